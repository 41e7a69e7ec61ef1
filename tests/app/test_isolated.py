"""An embedded program whose suspects run in a process of their own; what such a process does by itself is
tested with `sexton.engine.worker.isolation`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from sexton.postgres.database import Database
from tests.seeding import Store
from tests.waiting import PATIENCE, until

# Without `if __name__ == "__main__"`, as short programs are.
PROGRAM = """
import os, sys
from sexton import Sexton

app = Sexton(sys.argv[1], name="shop", poll_seconds=0.1, grace_seconds=5)

@app.handler("leave")
async def leave(run):
    os._exit(3)

@app.handler("where")
def where(run):
    return os.getpid()

@app.handler("hold")
async def hold(run):
    print(os.getpid(), flush=True)
    await __import__("asyncio").sleep(3)

app.run()
"""


async def suspect(store: Store, handler: str, **columns: int) -> int:
    now = await store.value("select now()")
    job = await store.job(f"shop:{handler}")
    times = dict.fromkeys(("available_at", "scheduled_at", "due_at"), now)
    return await store.run(job, handler=f"shop:{handler}", **{**times, **columns})


def start(tmp_path: Path, url: str) -> subprocess.Popen[str]:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, str(script), url],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


async def test_a_handler_that_ends_its_process_does_not_end_the_program(
    tmp_path: Path, database: Database
) -> None:
    store = Store(database)
    guilty = await suspect(store, "leave", company=1, crashes=2, attempt=2)
    beside, healthy = await suspect(store, "where", company=1), await suspect(store, "where")
    program = start(tmp_path, database.url)

    async def over() -> bool:
        assert program.poll() is None
        return await store.statuses() == {guilty: "dead", beside: "success", healthy: "success"}

    try:
        await until(over)
        letter = await store.row("select reason, error from sexton.dead")
        assert letter["reason"] == "poison"
        assert letter["error"].endswith("died while it ran this alone: exit code 3")
        assert (await store.history(healthy))["result"] == str(program.pid)
        assert (await store.history(beside))["result"] != str(program.pid)
        program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0
    finally:
        program.kill()
        program.communicate()


async def test_a_process_of_its_own_does_not_outlive_the_program(tmp_path: Path, database: Database) -> None:
    """It finishes what it has, takes nothing more, and leaves in good order."""
    store = Store(database)
    run = await suspect(store, "hold", company=1)
    program = start(tmp_path, database.url)
    try:
        assert program.stdout is not None
        isolated = int(program.stdout.readline())
        later = await suspect(store, "where", company=1)
        program.kill()
        program.wait()

        def gone() -> bool:
            try:
                os.kill(isolated, 0)
            except ProcessLookupError:
                return True
            return False

        await until(gone)
    finally:
        program.kill()
        program.communicate()
    assert await store.statuses() == {run: "success"}
    assert (await store.live(later))["claim"] == 0
