"""Suspects in processes of their own, which are real ones here."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.upkeep.sweeper import reap
from sexton.engine.worker import isolation as module
from sexton.engine.worker.isolation import MOST_PROCESSES, Isolation, Origin
from sexton.engine.worker.suspects import SuspectClaimer
from sexton.engine.worker.worker import Worker
from sexton.postgres.transaction import Context
from tests.seeding import Store
from tests.waiting import until

PROGRAM = """
import os, threading
from sexton import Sexton

app = Sexton(name="shop")

@app.handler("where")
async def where(run):
    return os.getpid()

@app.handler("leave")
def leave(run):
    os._exit(3)

@app.handler("hang")
async def hang(run):
    await __import__("asyncio").Event().wait()
"""
HANDLERS = ("where", "leave", "hang")
SETTINGS = Settings(poll_seconds=0.1, grace_seconds=0)


@pytest_asyncio.fixture
async def isolation(store: Store, tmp_path: Path) -> AsyncIterator[Isolation]:
    made = isolated(store, tmp_path, PROGRAM)
    yield made
    await made.stop(0)


def isolated(store: Store, folder: Path, text: str, handlers: Any = HANDLERS, **origin: Any) -> Isolation:
    (folder / "shop_of_the_test.py").write_text(textwrap.dedent(text), encoding="utf-8")
    where = {"app": "shop", "modules": ["shop_of_the_test"], "path": [str(folder), *sys.path], **origin}
    return Isolation(store.database, SETTINGS, handlers, Origin(**where))


async def suspect(store: Store, handler: str, **columns: Any) -> int:
    """In the time of the database: a process of its own has no other clock."""
    now = await store.value("select now()")
    job = await store.job(f"shop:{handler}")
    times = dict.fromkeys(("available_at", "scheduled_at", "due_at"), now)
    return await store.run(job, handler=f"shop:{handler}", **{"company": 1, **times, **columns})


async def ended(store: Store, run: int) -> Any:
    async def found() -> bool:
        return run in await store.statuses()

    await until(found)
    return await store.history(run)


async def test_a_suspect_is_carried_out_in_a_process_of_its_own(store: Store, isolation: Isolation) -> None:
    """One is enough for those that come one after the other; it is a node of its own."""
    first, second = await suspect(store, "where"), await suspect(store, "where")
    isolation.wanted()
    isolation.wanted()
    results = [await ended(store, run) for run in (first, second)]
    assert {row["status"] for row in results} == {"success"}
    assert isolation.running == 1
    names = await store.fetch("select name from sexton.nodes")
    [pid] = [int(row["name"].split(":")[-2]) for row in names]
    assert {row["result"] for row in results} == {str(pid)}
    assert pid != os.getpid()
    await isolation.stop(10)
    assert await store.value("select detail ->> 'stopped' from sexton.nodes") == "true"


async def test_a_process_that_ends_charges_exactly_the_run_that_was_in_it(
    store: Store, isolation: Isolation
) -> None:
    """And the next one begins afresh, until the run is poison."""
    over = asyncio.Event()
    isolation.on_end = over.set
    run, later = await suspect(store, "leave", crashes=1, attempt=1), await suspect(store, "where")
    isolation.wanted()
    await over.wait()
    assert await reap(Context(store.database)) == (1, 0, 0)
    live = await store.live(run)
    assert (live["crashes"], live["company"]) == (2, 1)
    assert live["error"].endswith("died while it ran this alone: exit code 3")
    over.clear()
    isolation.wanted()
    assert isolation.running == 0  # there is a pause between two of them

    async def again() -> bool:
        isolation.wanted()
        return over.is_set()

    await until(again)
    assert await reap(Context(store.database)) == (0, 1, 0)
    assert (await store.history(run))["reason"] == "poison"
    await until(again)
    await ended(store, later)


async def test_an_end_that_cannot_be_reported_is_logged(
    store: Store, isolation: Isolation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The lease of the process ends by itself, and the next process is not kept from starting."""

    async def full(*_: object) -> None:
        raise asyncpg.DiskFullError("no space left on device")

    monkeypatch.setattr(module, "report_death", full)
    over = asyncio.Event()
    isolation.on_end = over.set
    await suspect(store, "leave")
    isolation.wanted()
    await over.wait()
    assert (
        "could not report the end of a process: no space left on device; its lease expires by itself"
        in caplog.text
    )


async def test_a_handler_that_cannot_be_loaded_there_is_told(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = isolated(store, tmp_path, PROGRAM, [*HANDLERS, "closure"])
    assert made.serves("handler", "shop:closure")
    made.wanted()
    try:
        await until(lambda: not made.serves("handler", "shop:closure"))
        assert made.serves("handler", "shop:where")
        assert made.serves("handler", "sexton.noop")
        assert "these handlers cannot be loaded in another process: closure." in caplog.text
    finally:
        await made.stop(0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
        ("from sexton import Sexton", "no application shop exists after its modules were imported"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
async def test_an_application_that_cannot_be_loaded_there_is_told(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, problem: str
) -> None:
    made = isolated(store, tmp_path, text)
    made.wanted()
    try:
        await until(lambda: not made.serves("handler", "shop:where"))
        assert problem in caplog.text
        assert "run here, one at a time and without others" in caplog.text
        made.wanted()
        await until(lambda: not made.running)
    finally:
        await made.stop(0)


async def test_one_that_dies_while_it_loads_is_tried_a_few_times(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(module, "FURTHER_SECONDS", 0)
    made = isolated(store, tmp_path, "import os; os._exit(3)")

    def refused() -> bool:
        made.wanted()
        return not made.serves("handler", "shop:where")

    await until(refused)
    assert "it ends, or hangs, when it is loaded in another process" in caplog.text
    await made.stop(0)


def test_a_program_without_a_file_runs_its_suspects_itself(store: Store) -> None:
    made = Isolation(store.database, SETTINGS, ["where"], Origin(app="shop", obstacle="it has no file"))
    assert not made.serves("handler", "shop:where")
    made.wanted()
    assert made.running == 0


async def test_further_processes_are_for_suspects_that_wait_too_long(
    store: Store, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    async def keep() -> None:
        started.append(True)
        isolation._starting = False
        await asyncio.Event().wait()

    monkeypatch.setattr(isolation, "_keep", keep)
    for _ in range(2):
        isolation.wanted()
        await asyncio.sleep(0)
    assert len(started) == 1
    monkeypatch.setattr(module, "FURTHER_SECONDS", 0)
    isolation._further_at = 0.0
    for _ in range(2 * MOST_PROCESSES):
        isolation.wanted()
        await asyncio.sleep(0)
    assert len(started) == MOST_PROCESSES
    for task in isolation._tasks:
        task.cancel()


async def test_one_that_does_not_leave_is_killed_and_charges_no_run(
    store: Store, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", 0)
    run = await suspect(store, "hang")
    isolation.wanted()

    async def begun() -> bool:
        return bool((await store.live(run))["state"] == "running")

    await until(begun)
    [process] = isolation._processes
    process.send_signal(signal.SIGSTOP)
    await isolation.stop(0)
    await reap(Context(store.database))
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["crashes"]) == ("pending", 0, 0)


async def test_it_leaves_when_there_is_nothing_to_do(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.engine.worker.suspects.IDLE_SECONDS", 0)
    worker = Worker(store.database, SETTINGS, {}, suspects=True, loops=["outcome_writer"])
    await worker.start()
    try:
        claimer = worker.claimer
        assert isinstance(claimer, SuspectClaimer)
        await store.lane("sexton.noop")
        await claimer.tick()
        assert claimer.idle.is_set()
    finally:
        await worker.stop(0)
