"""The synchronous client: the commands of an application without an event loop."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sexton import Run, RunFailed, Sexton
from sexton.app.commands import Commands
from sexton.app.content import ContentCommands
from sexton.app.sync import SyncClient, SyncContent
from sexton.errors import NotFound, RefusedLines, Unavailable
from sexton.testing import engine
from tests.waiting import PATIENCE

FAR = datetime(2100, 1, 1, tzinfo=UTC)
MONDAY = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def app(database_url: str) -> Iterator[Sexton]:
    made = Sexton(database_url, name="test")
    made.handler("later")(lambda run: None)
    yield made
    made.sync.close()


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "sexton-sync"]


def test_every_command_is_there_with_its_signature_and_its_words() -> None:
    commands = {
        name: each
        for name, each in vars(Commands).items()
        if inspect.iscoroutinefunction(each) and not name.startswith("_")
    }
    assert {name for name in vars(SyncClient) if not name.startswith("_")} == {
        *commands, "close", "content", "notify",
    }  # fmt: skip
    for name, command in commands.items():
        waiting = getattr(SyncClient, name)
        assert inspect.signature(waiting).parameters.keys() == inspect.signature(command).parameters.keys()
        assert waiting.__doc__ == command.__doc__
        assert command.__doc__, f"{name} says nothing about itself"


def test_every_command_of_content_is_there_too() -> None:
    commands = {
        name: each
        for name, each in inspect.getmembers(ContentCommands, inspect.isfunction)
        if not name.startswith("_")
    }
    assert {name for name in vars(SyncContent) if not name.startswith("_")} == commands.keys()
    for name, command in commands.items():
        waiting = getattr(SyncContent, name)
        assert inspect.signature(waiting).parameters.keys() == inspect.signature(command).parameters.keys()
        assert waiting.__doc__ == command.__doc__
        assert command.__doc__


def test_a_script_plans_content(app: Sexton) -> None:
    app.sync.content.save("post/1", {"title": "Spring"})
    made = app.sync.content.schedule("publish", "post/1", at=FAR)
    assert (made.status, made.created_by) == ("pending", "app:test")
    assert app.sync.content.entity("post/1").pending == [made]


def test_a_script_acts_on_many_jobs(app: Sexton) -> None:
    app.sync.schedule_many("later", [{"at": FAR, "name": f"bulk-{n}"} for n in range(3)])
    assert app.sync.pause_many(name="bulk-*").done == 3
    assert app.sync.delete_many(status="paused").done == 3
    assert app.sync.list() == []


def test_a_script_makes_jobs_and_looks_at_them(app: Sexton) -> None:
    job = app.sync.schedule("later", at=FAR, name="one", payload={"n": 1})
    assert app.sync.get("one").job_id == job.job_id
    assert app.sync.pause("one", reason="closed").status == "paused"
    assert app.sync.resume("one").status == "active"
    assert app.sync.edit("one", priority=1).priority == 1
    run_id = app.sync.run_now("one")
    assert app.sync.cancel_run(run_id) == "cancelled"
    with pytest.raises(RunFailed):
        app.sync.result(run_id, timeout=5)
    assert [run.status for run in app.sync.history("one")] == ["cancelled"]
    assert [each.name for each in app.sync.list(status="active")] == ["one"]
    assert app.sync.why("one", past=0)
    app.sync.delete("one")
    with pytest.raises(NotFound):
        app.sync.get("one")
    assert threads() == ["sexton-sync"]
    app.sync.close()
    assert threads() == []
    assert app.sync.list() == []


def test_many_come_from_a_generator_of_the_callers_thread(
    app: Sexton, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.app.sync.CHUNK", 10)
    here = threading.get_ident()

    def items(bad: int | None = None) -> Iterator[dict[str, Any]]:
        for number in range(25):
            assert threading.get_ident() == here
            yield {"at": "soon" if number == bad else FAR, "name": f"{bad}-{number}"}

    assert len(set(app.sync.schedule_many("later", items()))) == 25
    with pytest.raises(RefusedLines) as caught:
        app.sync.schedule_many("later", items(bad=17))
    assert [line for line, _ in caught.value.errors] == [18]
    assert len(app.sync.list()) == 35


def test_threads_share_one_loop(app: Sexton) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda n: app.sync.schedule("later", at=FAR, name=f"n{n}").name, range(40)))
    assert sorted(job.name for job in app.sync.list()) == sorted(names)
    assert threads() == ["sexton-sync"]


async def test_it_is_refused_inside_a_running_loop(app: Sexton) -> None:
    with pytest.raises(RuntimeError, match=r"write await app\.get\(…\)"):
        app.sync.get("one")


async def test_a_plain_handler_makes_jobs(app: Sexton) -> None:
    @app.handler("parent")
    def parent(run: Run) -> str:
        return app.sync.schedule("later", at=FAR, name=f"child-of-{run.job_name}").name

    async with app.running():
        job = await app.schedule(parent, at=FAR, name="first")
        assert await app.result(await app.run_now(job.job_id), timeout=PATIENCE) == "child-of-first"
        assert (await app.get("child-of-first")).name == "child-of-first"


async def test_within_the_test_engine_it_uses_the_database_of_the_engine(
    app: Sexton, server_url: str
) -> None:
    await asyncio.to_thread(app.sync.schedule, "later", at=FAR, name="outside")
    async with engine(app, at=MONDAY, server=server_url) as test:
        job = await asyncio.to_thread(app.sync.schedule, "later", after="10m", name="inside")
        assert job.next_run_at == datetime(2026, 6, 1, 0, 10, tzinfo=UTC)
        [run] = await test.advance(minutes=10)
        assert run.status == "success"
    assert [each.name for each in await asyncio.to_thread(app.sync.list)] == ["outside"]


def test_what_waits_is_told_that_the_client_was_closed(app: Sexton) -> None:
    app.sync.schedule("later", at=FAR, name="one")
    run_id = app.sync.run_now("one")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(app.sync.result, run_id)
        while not waiting.running():
            pass
        app.sync.get("one")  # it came after the other
        app.sync.close()
        with pytest.raises(RuntimeError, match=r"app\.sync was closed"):
            waiting.result()


def test_a_fork_has_a_client_of_its_own(app: Sexton) -> None:
    app.sync.schedule("later", at=FAR, name="before")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            app.sync.schedule("later", at=FAR, name="forked")
            app.sync.close()
            os.write(writer, b"done")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 10) == b"done"
    os.close(reader)
    assert [job.name for job in app.sync.list()] == ["before", "forked"]


def test_a_database_that_cannot_be_reached_is_told_and_tried_again(database_url: str) -> None:
    app = Sexton("postgresql://127.0.0.1:1/nowhere", name="test")
    with pytest.raises(Unavailable):
        app.sync.list()
    app.settings = Sexton(database_url, name="test").settings
    assert app.sync.list() == []
    app.sync.close()


SCRIPT = """
    import sys
    from sexton import Sexton

    app = Sexton(data=sys.argv[1], name="script")
    app.handler("later")(lambda run: None)
    print(app.sync.schedule("later", at="2100-01-01T00:00Z", name="one").name)
    print(app.sync.get("one").name)
"""


def test_a_script_ends_cleanly_and_its_private_server_with_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT), "utf-8")
    data = tmp_path / "data"
    done = subprocess.run(
        [sys.executable, "-W", "always", str(script), str(data)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\none\n", "")
    assert not (data / "postgres" / "postmaster.pid").exists()
