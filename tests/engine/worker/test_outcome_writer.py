"""Outcomes are written once, also when the answer to a statement is lost."""

from __future__ import annotations

import asyncio
import math
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from sexton.engine.worker.queue import RunQueue
from sexton.errors import Unavailable
from sexton.model import Cancel, Failure, Outcome, Retry, Snooze
from sexton.targets.face import Run
from tests.seeding import (
    Store,
    claim,
    settled,
    working,
)
from tests.waiting import until


async def succeed(run: Run) -> None:
    """Returns nothing."""


class LostAnswer:
    """Doctors the queue: the statement is carried out, or not, and then the connection is said to be lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, *, carried_out: bool) -> None:
        self.calls = 0
        real = getattr(RunQueue, name)

        async def doctored(queue: RunQueue, *arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls > 1:
                return await real(queue, *arguments, **named)
            if carried_out:
                await real(queue, *arguments, **named)
            raise Unavailable("database_unavailable", "the answer was lost")

        monkeypatch.setattr(RunQueue, name, doctored)


@pytest.mark.parametrize("carried_out", [True, False])
async def test_a_finish_without_an_answer_is_looked_up_first(
    store: Store, monkeypatch: pytest.MonkeyPatch, carried_out: bool
) -> None:
    run = await store.run()
    lost = LostAnswer(monkeypatch, "finish", carried_out=carried_out)
    async with working(store.database, {"work": succeed}) as worker:
        await claim_all(worker, store)
        await settled(worker)
        assert worker.telemetry.lost._value.get() == 0
        assert worker.telemetry.succeeded._value.get() == 1
    assert lost.calls == (1 if carried_out else 2)
    assert await store.statuses() == {run: "success"}
    assert await store.value("select count(*) from sexton.history") == 1


async def test_what_is_logged_while_earlier_lines_are_written_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends meanwhile: its outcome waits for its last line, which needs the row of the run."""
    writing = asyncio.Event()
    real = RunQueue.log

    async def slow(queue: RunQueue, *arguments: Any, **named: Any) -> None:
        writing.set()
        await until(lambda: not worker.state.in_hand)
        await real(queue, *arguments, **named)

    async def talk(run: Run) -> None:
        await run.log("first")
        await writing.wait()
        await run.log("last")

    monkeypatch.setattr(RunQueue, "log", slow)
    await store.run()
    async with working(store.database, {"work": talk}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    rows = await store.fetch("select message from sexton.run_logs order by at")
    assert [row["message"] for row in rows] == ["first", "last"]


@pytest.mark.parametrize("carried_out", [True, False])
async def test_a_death_without_an_answer_is_looked_up_first(
    store: Store, monkeypatch: pytest.MonkeyPatch, carried_out: bool
) -> None:
    run = await store.run(await store.job("sexton.fail", max_retries=0))
    LostAnswer(monkeypatch, "end", carried_out=carried_out)
    async with working(store.database, {"work": succeed}) as worker:
        await claim_all(worker, store)
        await settled(worker)
        assert worker.telemetry.lost._value.get() == 0
    assert await store.statuses() == {run: "dead"}
    assert await store.value("select count(*) from sexton.dead") == 1


async def test_a_retry_without_an_answer_is_not_done_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await store.run(await store.job("sexton.fail"))
    LostAnswer(monkeypatch, "retry", carried_out=True)
    async with working(store.database, {"work": succeed}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    live = await store.live(run)
    assert (live["state"], live["attempt"]) == ("failed", 1)
    assert await store.value("select count(*) from sexton.attempts") == 1


async def test_log_lines_are_not_lost_with_an_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(run: Run) -> None:
        await run.log("one")
        await run.log("two", level="warning")

    run = await store.run()
    LostAnswer(monkeypatch, "log", carried_out=False)
    async with working(store.database, {"work": work}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    lines = await store.fetch("select run_id, message, level from sexton.run_logs order by at")
    assert [tuple(line) for line in lines] == [(run, "one", "info"), (run, "two", "warning")]


async def test_the_last_outcomes_of_a_worker_survive_a_deadlock(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not written when a worker stops counts as a crash."""
    run = await store.run()
    real = RunQueue.finish
    met: list[int] = []

    async def finish(queue: RunQueue, *arguments: Any, **named: Any) -> set[int]:
        if not met:
            met.append(run)
            raise asyncpg.DeadlockDetectedError("deadlock detected")
        return await real(queue, *arguments, **named)

    async with working(store.database, {"work": succeed}) as worker:
        monkeypatch.setattr(RunQueue, "finish", finish)
        worker.state.on_outcome = lambda: None
        await claim_all(worker, store)
        await worker.idle()
    assert met == [run]
    assert await store.statuses() == {run: "success"}


async def test_outcomes_wait_for_a_database_that_is_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every connection of the worker is cut while a run is under way."""
    run = await store.run()

    async def work(run: Run) -> str:
        await store.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sexton worker'"
        )
        return "kept"

    async with working(store.database, {"work": work}) as worker:
        await claim_all(worker, store)
        await settled(worker)
        assert worker.telemetry.lost._value.get() == 0
    assert (await store.history(run))["result"] == '"kept"'


async def test_a_refused_outcome_does_not_keep_the_others_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [await store.run(await store.job("sexton.fail", max_retries=0)) for _ in range(3)]
    real = RunQueue.end

    async def picky(queue: RunQueue, node: int, rows: Any, **named: Any) -> set[int]:
        if any(row[0] == runs[1] for row in rows):
            raise asyncpg.DataError("refused")
        return await real(queue, node, rows, **named)

    monkeypatch.setattr(RunQueue, "end", picky)
    async with working(store.database, {"work": succeed}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    assert await store.statuses() == {runs[0]: "dead", runs[2]: "dead"}


async def test_an_outcome_that_is_refused_is_recorded_with_a_note(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = await store.run(await store.job("sexton.fail", max_retries=0))
    again = await store.run(await store.job("sexton.fail", max_retries=3))

    def picky(name: str, message: int) -> None:
        real = getattr(RunQueue, name)

        async def write(queue: RunQueue, node: int, rows: Any, **named: Any) -> set[int]:
            if any("always fails" in row[message] for row in rows):
                raise asyncpg.DataError("refused")
            lost: set[int] = await real(queue, node, rows, **named)
            return lost

        monkeypatch.setattr(RunQueue, name, write)

    picky("end", 7)
    picky("retry", 6)
    async with working(store.database, {"work": succeed}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    assert (await store.history(ending))["status"] == "dead"
    live = await store.live(again)
    assert (live["state"], live["attempt"]) == ("failed", 1)
    assert live["error"] == "the outcome cannot be recorded as it was: refused"


@pytest.mark.parametrize(
    "outcome",
    [
        Failure("a NUL \0 and half of a character \ud800"),
        Failure(ValueError("not a text")),  # type: ignore[arg-type]
        Failure("x", retry_after=timedelta(minutes=1)),  # type: ignore[arg-type]
        Failure("x", retry_after=math.nan),
        Failure("x" * 1_000_000),
        Retry(after=math.inf),
        Retry(reason=None),  # type: ignore[arg-type]
        Snooze("soon"),  # type: ignore[arg-type]
        Snooze(None),  # type: ignore[arg-type]
        Snooze(math.nan),
        Retry(after=[]),  # type: ignore[arg-type]
    ],
    ids=lambda outcome: repr(outcome)[:40],
)
async def test_whatever_a_handler_returns_its_run_goes_on(store: Store, outcome: Outcome) -> None:
    run, other = await store.run(), await store.run()

    async def work(context: Run) -> Outcome | None:
        return outcome if context._attempt.id == run else None

    async with working(store.database, {"work": work}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    live = await store.live(run)
    assert live["state"] in ("failed", "pending")
    assert live["node"] is None
    assert await store.statuses() == {other: "success"}


async def test_a_handler_may_cancel_without_a_reason(store: Store) -> None:
    run = await store.run()

    async def work(context: Run) -> Outcome:
        return Cancel(None)  # type: ignore[arg-type]

    async with working(store.database, {"work": work}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    assert await store.statuses() == {run: "cancelled"}


async def test_a_refused_line_does_not_take_the_others_with_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(run: Run) -> None:
        for word in ("one", "two", "three"):
            await run.log(word)

    run = await store.run(
        await store.job(payload={"n": 7}, idempotency_key_template="{{date}}-{{payload.n}}")
    )
    real = RunQueue.log

    async def picky(queue: RunQueue, node: int, rows: Any, **named: Any) -> None:
        if any(row[4] == "two" for row in rows):
            raise asyncpg.DataError("refused")
        await real(queue, node, rows, **named)

    monkeypatch.setattr(RunQueue, "log", picky)
    async with working(store.database, {"work": work}) as worker:
        await claim_all(worker, store)
        await settled(worker)
    lines = await store.fetch("select message from sexton.run_logs order by at")
    assert [line["message"] for line in lines] == ["one", "three"]
    assert (await store.history(run))["idempotency_key"] == "2030-05-01-7"


async def claim_all(worker: Any, store: Store) -> None:
    await claim(worker, [await store.lane()], 10)
