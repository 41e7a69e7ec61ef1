"""A worker from claim to record, on a real database."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from sexton.engine.begun import FIRST_CELL, NODE, make_descriptor, take_begun
from sexton.engine.cluster.status import get_cluster
from sexton.engine.worker.queue import RunQueue
from sexton.engine.worker.runner import REUSE_LIMIT
from sexton.engine.worker.watcher import STALE_SECONDS
from sexton.engine.worker.worker import Worker
from sexton.errors import LeaseLost, Unavailable
from sexton.model import Cancel, Outcome, Release, Retry, Snooze, encode_id
from sexton.postgres.transaction import Context
from sexton.targets.face import Run
from tests.seeding import (
    NOW,
    QUIET,
    Store,
    claim,
    drained,
    settled,
    turn,
    working,
)
from tests.waiting import PATIENCE, until


async def succeed(run: Run) -> None:
    """Returns nothing."""


async def test_runs_are_executed_and_recorded(store: Store) -> None:
    runs = [await store.run() for _ in range(5)]
    seen = []

    async def work(run: Run) -> dict[str, int]:
        seen.append(run._attempt.id)
        return {"n": len(seen)}

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert sorted(seen) == runs
    assert await store.statuses() == dict.fromkeys(runs, "success")
    assert {row["result"] for row in await store.fetch("select result from sexton.history")} == {
        f'{{"n": {n}}}' for n in range(1, 6)
    }


async def test_a_handler_is_told_everything_about_its_run(store: Store) -> None:
    job = await store.job(payload={"report": "weekly"}, timeout_seconds=50)
    number = await store.run(job, trigger="catch_up", missed=True)
    name = await store.value("select name from sexton.jobs")
    runs: list[Run] = []

    async def work(run: Run) -> None:
        runs.append(run)

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
        [run] = runs
        assert (run.run_id, run.job_id, run.job_name) == (encode_id("r", number), encode_id("j", job), name)
        assert (run.payload, run.trigger, run.missed) == ({"report": "weekly"}, "catch_up", True)
        assert (run.scheduled_at, run.attempt, run.cancelled) == (NOW, 1, False)
        assert run.idempotency_key == f"{encode_id('j', job)}:{int(NOW.timestamp())}"
        assert run.late_seconds >= 0
        assert isinstance(run.deadline, datetime)


async def test_runs_of_a_claim_without_an_answer_are_given_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement was carried out, and the connection lost before its rows came."""
    runs = [await store.run() for _ in range(3)]
    real, calls = RunQueue.claim, 0

    async def lose(queue: RunQueue, *arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        rows = await real(queue, *arguments, **named)
        if calls == 1:
            raise Unavailable("database_unavailable", "the answer was lost")
        return rows

    monkeypatch.setattr(RunQueue, "claim", lose)
    async with working(store.database, {"work": succeed}, by_itself=True) as worker:
        while len(await store.statuses()) < len(runs):
            await turn(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")
    attempts = await store.fetch("select attempt, claim from sexton.history")
    assert {tuple(row) for row in attempts} == {(1, 2)}


async def test_what_is_in_hand_is_not_given_back(store: Store) -> None:
    runs = [await store.run() for _ in range(3)]
    running, go = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        if run._attempt.id != runs[0]:
            running.set()
            await go.wait()

    async with working(store.database, {"work": work}, concurrency=2) as worker:
        await worker.outcome_writer.stop()
        await claim(worker)
        await running.wait()
        assert (len(worker.state.running), worker.state.unwritten_outcomes) == (2, 1)
        await worker.claimer.release_unknown(await worker.joined())
        go.set()
        worker.outcome_writer.start()
        await settled(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")


@pytest.mark.parametrize("fails", [False, True])
async def test_a_key_from_a_template_is_kept_with_the_run(store: Store, fails: bool) -> None:
    job = await store.job(
        payload={"n": 7}, max_retries=0, idempotency_key_template="report-{{week}}-{{payload.n}}"
    )
    run = await store.run(job)
    keys = []

    async def work(run: Run) -> None:
        keys.append(run.idempotency_key)
        if fails:
            raise ValueError

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert keys == ["report-2030-W18-7"]
    assert (await store.history(run))["idempotency_key"] == keys[0]
    if fails:
        assert await store.value("select idempotency_key from sexton.dead") == keys[0]


@pytest.mark.parametrize("trigger", ["schedule", "manual"])
async def test_a_template_that_cannot_be_filled_gives_the_default_key(store: Store, trigger: str) -> None:
    job = await store.job(payload={"n": 7}, idempotency_key_template="{{payload.n}}")
    number = await store.run(job, payload='{"other": 1}', trigger=trigger)
    keys = []

    async def work(run: Run) -> None:
        keys.append(run.idempotency_key)

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    ends = {"schedule": int(NOW.timestamp()), "manual": f"manual:{encode_id('r', number)}"}
    assert keys == [f"{encode_id('j', job)}:{ends[trigger]}"]


async def test_plain_functions_run_in_threads(store: Store) -> None:
    run, here = await store.run(), threading.get_ident()

    def work(run: Run) -> int:
        run.log("from a thread")  # type: ignore[unused-awaitable]
        run.progress(0.5, "half")  # type: ignore[unused-awaitable]
        return int(threading.get_ident() != here)

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert (await store.history(run))["result"] == "1"
    assert await store.value("select message from sexton.run_logs") == "from a thread"


async def test_an_error_is_kept_and_the_run_tried_again_later(store: Store) -> None:
    run = await store.run(await store.job(max_retries=3))

    async def work(run: Run) -> None:
        raise ValueError("no paper")

    moment = NOW
    async with working(store.database, {"work": work}, now=lambda: moment) as worker:
        for expected in (1, 2, 4):
            await drained(worker)
            live = await store.live(run)
            assert (live["state"], live["error"].split("\n")[0]) == ("failed", "ValueError: no paper")
            assert live["available_at"] == moment + timedelta(minutes=expected)
            moment = live["available_at"]
        await drained(worker)
    ended = await store.history(run)
    assert (ended["status"], ended["reason"], ended["attempt"]) == ("dead", "exhausted", 4)
    assert await store.value("select count(*) from sexton.attempts") == 4
    assert await store.value("select error_group from sexton.dead") == "ValueError: no paper"


async def test_no_retries_mean_one_attempt(store: Store) -> None:
    run = await store.run(await store.job("sexton.fail", max_retries=0), handler="sexton.fail")
    async with working(store.database, {}) as worker:
        await drained(worker)
    assert (await store.history(run))["attempt"] == 1


async def test_a_crash_of_the_worker_uses_up_no_retry(store: Store) -> None:
    run = await store.run(
        await store.job("sexton.fail", max_retries=0), handler="sexton.fail", attempt=1, crashes=1
    )
    async with working(store.database, {}) as worker:
        await drained(worker)
    assert (await store.history(run))["status"] == "dead"
    other = await store.run(
        await store.job("sexton.fail", max_retries=1), handler="sexton.fail", attempt=1, crashes=1
    )
    async with working(store.database, {}) as worker:
        await drained(worker)
    assert (await store.live(other))["state"] == "failed"


@pytest.mark.parametrize(
    ("value", "state", "seconds", "attempt"),
    [
        (Retry(after=7), "failed", 7, 1),
        (Retry(), "failed", 60, 1),
        (Snooze(90), "pending", 90, 0),
        (Retry(after=-1), "failed", 0, 1),
        (Retry(after=timedelta(minutes=5)), "failed", 300, 1),
        (Snooze(timedelta(minutes=5)), "pending", 300, 0),
        (Retry(after="soon"), "failed", 60, 1),  # type: ignore[arg-type]
    ],
)
async def test_a_handler_can_ask_to_be_called_again(
    store: Store, value: object, state: str, seconds: int, attempt: int
) -> None:
    run = await store.run()

    async def work(run: Run) -> object:
        return value

    async with working(store.database, {"work": work}) as worker:
        await claim(worker, [await store.lane()], 10)
        await settled(worker)
    live = await store.live(run)
    assert (live["state"], live["attempt"]) == (state, attempt)
    assert live["available_at"] == NOW + timedelta(seconds=seconds)


async def test_a_handler_can_cancel_its_run(store: Store) -> None:
    run = await store.run()

    async def work(run: Run) -> Cancel:
        return Cancel("not needed")

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("cancelled", "not needed")


async def test_an_attempt_over_its_time_is_stopped(store: Store) -> None:
    run = await store.run(await store.job(timeout_seconds=0, max_retries=1))
    stopped = asyncio.Event()

    async def work(run: Run) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            assert run.cancelled
            stopped.set()

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        while not stopped.is_set():
            worker.watcher.watch()
            await turn(worker)
        await settled(worker)
    live = await store.live(run)
    assert (live["state"], live["error"]) == ("failed", "timeout: it was stopped after 0 seconds")
    assert await store.value("select outcome from sexton.attempts") == "timeout"


async def test_a_function_in_a_thread_sees_that_its_time_is_over(store: Store) -> None:
    run = await store.run(await store.job(timeout_seconds=0, max_retries=0))
    running, over = threading.Event(), threading.Event()

    def work(run: Run) -> None:
        running.set()
        while not run.cancelled:
            pass
        over.set()

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await asyncio.to_thread(running.wait)
        worker.watcher.watch()
        await asyncio.to_thread(over.wait)
        await settled(worker)
    assert (await store.history(run))["status"] == "dead"


async def test_a_cancel_request_reaches_the_running_handler(store: Store) -> None:
    run = await store.run()
    running, stopped = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with working(store.database, {"work": work}, by_itself=True) as worker:
        await running.wait()
        outcome = await store.database.fetchval(
            "recording/cancel_runs", namespace="default", run_ids=[run], reason="a person said so", now=NOW
        )
        assert outcome == "requested"
        # The request rings, and the next beat brings it.
        await stopped.wait()
        await settled(worker)
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("cancelled", "a person said so")


async def test_a_pending_run_is_cancelled_at_once(store: Store) -> None:
    run = await store.run(available_at=NOW + timedelta(hours=1))
    outcome = await store.database.fetchval(
        "recording/cancel_runs", namespace="default", run_ids=[run], reason="not needed", now=NOW
    )
    assert outcome == "cancelled"
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("cancelled", "not needed")


async def test_a_result_over_the_cap_is_not_kept_whole(store: Store) -> None:
    run = await store.run()

    async def work(run: Run) -> str:
        return "x" * 100_000

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    ended = await store.history(run)
    assert ended["status"] == "success"
    assert msgspec.json.decode(ended["result"])["truncated"] is True


async def test_a_result_postgres_refuses_does_not_keep_the_others_back(store: Store) -> None:
    runs = [await store.run() for _ in range(3)]

    async def work(run: Run) -> Any:
        # Valid JSON, but deeper than PostgreSQL's stack.
        return msgspec.Raw(b"[" * 20_000 + b"]" * 20_000) if run._attempt.id == runs[1] else 1

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")
    assert "cannot be kept" in (await store.history(runs[1]))["result"]
    assert (await store.history(runs[2]))["result"] == "1"


async def test_a_lost_run_is_dropped_and_counted(store: Store) -> None:
    run = await store.run()
    running, go = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        running.set()
        await go.wait()

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await running.wait()
        await store.execute("update sexton.runs set claim = claim + 1, node = $1", await store.node())
        before = await store.live(run)
        go.set()
        await settled(worker)
        assert worker.telemetry.lost._value.get() == 1
    assert await store.live(run) == before
    assert await store.statuses() == {}


@pytest.mark.parametrize("ended", [False, True])
async def test_an_outcome_does_not_land_on_another_run_of_the_same_id(store: Store, ended: bool) -> None:
    """After a failover that lost transactions, the ids of runs are given out again."""
    run = await store.run()
    started: list[str] = []
    running, go = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> str:
        started.append(run.job_name)
        running.set()
        await go.wait()
        return "old" if len(started) == 1 else "new"

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await running.wait()
        await worker.outcome_writer.stop()  # the database is away
        if ended:
            go.set()
            await until(lambda: worker.state.unwritten_outcomes == 1)
        # The server that took over knows neither of the claim nor of the run: another job gets its id.
        await store.execute("update sexton.runs set claim = 0, attempt = 0, state = 'pending', node = null")
        await claim(worker)
        go.set()
        worker.outcome_writer.start()
        await settled(worker)
        assert (await store.live(run))["claim"] == 1
        assert await store.statuses() == {}
        assert worker.telemetry.ids_recurred._value.get() == 1
        await claim(worker)
        await settled(worker)
    assert (await store.history(run))["result"] == '"new"'
    assert len(started) == 2


async def test_ids_go_on_beyond_those_that_a_failover_lost(store: Store) -> None:
    run = await store.run()

    async def work() -> None:
        """There is nothing to do."""

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await settled(worker)
        await store.execute("select setval('sexton.run_ids', 1)")
        worker.state.highest_run = 5000
        await worker.queue.move_ids_on(worker.state.highest_run)
        assert await store.value("select nextval('sexton.run_ids')") > 1_000_000
        before = await store.value("select last_value from sexton.run_ids")
        await worker.queue.move_ids_on(worker.state.highest_run)
        assert await store.value("select last_value from sexton.run_ids") == before
    assert await store.statuses() == {run: "success"}


async def test_the_handlers_writes_and_the_success_commit_together(store: Store) -> None:
    await store.execute("create table if not exists public.ledger (run text)")
    await store.execute("truncate public.ledger")
    run = await store.run()

    async def work(run: Run) -> None:
        await run.log("before")
        async with run.transaction({"written": 1}) as connection:
            await connection.execute("insert into public.ledger values ($1)", run.run_id)

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
        assert worker.telemetry.lost._value.get() == 0
    assert (await store.history(run))["result"] == '{"written": 1}'
    assert await store.value("select run from public.ledger") == encode_id("r", run)
    assert await store.value("select message from sexton.run_logs") == "before"


async def test_handlers_in_transactions_keep_no_claim_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than there are connections for all else: they come one after the other."""
    monkeypatch.setattr("sexton.engine.worker.worker.TRANSACTIONS", 2)
    runs = [await store.run() for _ in range(8)]
    inside, go = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        async with run.transaction():
            inside.set()
            await go.wait()

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await inside.wait()
        async with asyncio.timeout(PATIENCE):
            for _ in range(20):
                await turn(worker)
        go.set()
        await settled(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")


async def test_what_a_handler_sets_in_its_session_ends_with_it(store: Store) -> None:
    for _ in range(3):
        await store.run()
    seen = []

    async def work(run: Run) -> None:
        async with run.transaction() as connection:
            seen.append(await connection.fetchval("show statement_timeout"))
            await connection.execute("set statement_timeout = '1min'")

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        await drained(worker)
    assert seen == ["0", "0", "0"]


async def test_a_lost_claim_rolls_the_handlers_writes_back(store: Store) -> None:
    await store.execute("create table if not exists public.ledger (run text)")
    await store.execute("truncate public.ledger")
    run = await store.run()
    raised = []

    async def work(run: Run) -> None:
        try:
            async with run.transaction() as connection:
                await connection.execute("insert into public.ledger values ($1)", run.run_id)
                await store.execute("update sexton.runs set claim = claim + 1")
        except LeaseLost as error:
            raised.append(error.code)
            raise

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await settled(worker)
    assert raised == ["lease_lost"]
    assert await store.fetch("select from public.ledger") == []
    assert (await store.live(run))["claim"] == 2
    assert await store.statuses() == {}


async def test_an_error_in_the_transaction_rolls_back_and_retries(store: Store) -> None:
    await store.execute("create table if not exists public.ledger (run text)")
    await store.execute("truncate public.ledger")
    run = await store.run()

    async def work(run: Run) -> None:
        async with run.transaction() as connection:
            await connection.execute("insert into public.ledger values ($1)", run.run_id)
            raise ValueError("changed my mind")

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert await store.fetch("select from public.ledger") == []
    assert (await store.live(run))["state"] == "failed"


async def test_what_runs_at_shutdown_is_given_back_uncharged(store: Store) -> None:
    run = await store.run()
    running = asyncio.Event()

    async def work(run: Run) -> None:
        running.set()
        await asyncio.Event().wait()

    async with working(store.database, {"work": work}) as worker:
        await claim(worker)
        await running.wait()
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["claim"], live["node"]) == ("pending", 0, 1, None)
    assert await store.value("select state from sexton.nodes") == "dead"


async def test_what_ends_within_the_grace_is_recorded(store: Store) -> None:
    run = await store.run()
    running, go = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> str:
        running.set()
        await go.wait()
        return "done"

    worker = Worker(store.database, QUIET, {"work": work}, now=lambda: NOW)
    await worker.start()
    await claim(worker)
    await running.wait()
    stopping = asyncio.create_task(worker.stop(1000))
    while await store.value("select state from sexton.nodes") != "draining":
        await turn(worker)
    go.set()
    await stopping
    assert (await store.history(run))["result"] == '"done"'


async def test_claimed_runs_that_wait_too_long_are_given_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [await store.run() for _ in range(3)]
    running = asyncio.Event()

    async def work(run: Run) -> None:
        running.set()
        await asyncio.Event().wait()

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        await claim(worker, [await store.lane()], 3)
        await running.wait()
        assert len(worker.state.backlog) == 2
        worker.state.backlog_since -= STALE_SECONDS
        worker.watcher.watch()
        assert not worker.state.backlog
        while worker.state.unwritten_outcomes:
            await turn(worker)
    states = {row["id"]: row["attempt"] for row in await store.fetch("select id, attempt from sexton.runs")}
    assert states == dict.fromkeys(runs, 0)


async def test_a_run_without_its_handler_goes_back(store: Store) -> None:
    run = await store.run(await store.job("gone"))
    async with working(store.database, {"work": succeed}) as worker:
        await drained(worker)
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["lane"]) == ("pending", 0, await store.lane())
    assert live["available_at"] > NOW


async def test_a_run_whose_job_is_gone_is_dead(store: Store) -> None:
    run = await store.run(4711)
    async with working(store.database, {"work": succeed}) as worker:
        await drained(worker)
    ended = await store.history(run)
    assert (ended["status"], ended["reason"], ended["error"]) == ("dead", "permanent", "its job is gone")


async def test_a_handler_that_cancels_itself_has_failed(store: Store) -> None:
    run = await store.run()

    async def work(run: Run) -> None:
        raise asyncio.CancelledError

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert "cancelled from within" in (await store.live(run))["error"]


async def test_a_handler_that_cancels_its_task_cancels_no_other_run(store: Store) -> None:
    """Runs that never wait share a task: the request would be delivered to the next one."""
    runs = [await store.run() for _ in range(3)]
    began = []

    async def work(run: Run) -> None:
        began.append(run._attempt.id)
        task = asyncio.current_task()
        assert task is not None
        if len(began) == 1:
            task.cancel()
        else:
            await asyncio.sleep(0)

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        await claim(worker)
        await settled(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")


async def test_built_in_handlers_are_always_there(store: Store) -> None:
    ok = await store.run(await store.job("sexton.noop"), handler="sexton.noop")
    logged = await store.run(await store.job("sexton.log", payload={"a": 1}), handler="sexton.log")
    bad = await store.run(await store.job("sexton.fail", max_retries=0), handler="sexton.fail")
    async with working(store.database, {}) as worker:
        await drained(worker)
    assert await store.statuses() == {ok: "success", logged: "success", bad: "dead"}
    assert await store.value("select message from sexton.run_logs") == '{"a": 1}'


async def test_a_ring_starts_new_runs(store: Store) -> None:
    """The worker's own loops do it: woken by NOTIFY, with a poll that would take far too long."""
    done = asyncio.Event()

    async def work(run: Run) -> None:
        done.set()

    lane = await store.lane()
    async with working(store.database, {"work": work}, by_itself=True) as worker:
        await worker.joined()
        while not worker.state.lanes:
            await turn(worker)
        run = await store.run()
        await store.execute("select pg_notify('sexton_runs', $1)", str(lane))
        await done.wait()
        await settled(worker)
    assert await store.statuses() == {run: "success"}


async def test_polling_alone_finds_runs(store: Store) -> None:
    class Deaf:
        async def listen(self, rung: object) -> None: ...

        async def check(self) -> bool:
            return False

        async def close(self) -> None: ...

    done = asyncio.Event()

    async def work(run: Run) -> None:
        done.set()

    await store.lane()
    settings = msgspec.structs.replace(QUIET, poll_seconds=0.01)
    worker = Worker(store.database, settings, {"work": work}, doorbell=Deaf(), now=lambda: NOW)
    await worker.start()
    await worker.joined()
    run = await store.run()
    await done.wait()
    await settled(worker)
    await worker.stop(0)
    assert await store.statuses() == {run: "success"}


@pytest.mark.parametrize("again", [Snooze(0.05), Retry(after=0.05), Release(0.05, "elsewhere is full")])
async def test_what_it_put_back_is_claimed_when_its_time_comes(store: Store, again: Outcome) -> None:
    """And not at the next poll, which would be in a quarter of an hour."""
    outcomes, done = [again, again, None], asyncio.Event()

    async def work(run: Run) -> Outcome | None:
        if len(outcomes) == 1:
            done.set()
        return outcomes.pop(0)

    run = await store.run(await store.job(max_retries=2), available_at=datetime(2026, 1, 1, tzinfo=UTC))
    async with working(store.database, {"work": work}, by_itself=True, now=lambda: None) as worker:
        async with asyncio.timeout(60):
            await done.wait()
        await settled(worker)
    assert await store.statuses() == {run: "success"}


async def test_more_runs_than_slots_are_all_done(store: Store) -> None:
    """The claimer goes on by itself as slots become free."""
    runs = [await store.run() for _ in range(50)]
    at_once = most = 0

    async def work(run: Run) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1

    async with working(store.database, {"work": work}, by_itself=True, concurrency=4, claim_size=8) as worker:
        while len(await store.statuses()) < len(runs):
            await turn(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")
    assert most <= 4


async def test_handlers_that_never_wait_share_a_task_and_nothing_else(store: Store) -> None:
    """More of them than a task may serve, and one slot: each runs once, and none sees another's context."""
    count = REUSE_LIMIT * 2 + 10
    job = await store.job()
    await store.execute(
        """insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
        select $1, $2, 2, $3, $3, $3, 1 from generate_series(1, $4::int)""",
        job,
        await store.lane(),
        NOW,
        count,
    )
    mark: ContextVar[int] = ContextVar("mark", default=0)
    tasks, marked, seen = set(), 0, []

    async def work(run: Run) -> None:
        nonlocal marked
        tasks.add(asyncio.current_task())
        assert mark.get() == 0
        seen.append(run._attempt.id)
        if len(seen) % 50 == 0:
            mark.set(run._attempt.id)
            marked += 1
        elif len(seen) % 50 == 25:
            await asyncio.sleep(0)

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        await claim(worker, [await store.lane()], count)
        await settled(worker)
    assert len(seen) == len(set(seen)) == count
    assert marked < len(tasks) < count / 5
    assert await store.value("select count(*) from sexton.history where status = 'success'") == count


@pytest.mark.parametrize(
    ("limit", "value", "kept"),
    [("LOG_LINES", 3, ["line 0", "line 1"]), ("LOG_BYTES", 12, ["line 0", "line 1"])],
)
async def test_the_log_of_an_attempt_has_an_end_that_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, kept: list[str]
) -> None:
    monkeypatch.setattr(f"sexton.targets.run.{limit}", value)
    await store.run()

    async def talk(run: Run) -> None:
        for number in range(10):
            await run.log(f"line {number}")

    async with working(store.database, {"work": talk}) as worker:
        await drained(worker)
    rows = await store.fetch("select level, message from sexton.run_logs order by at, recorded_at, ctid")
    assert [row["message"] for row in rows[:-1]] == kept
    assert rows[-1]["level"] == "warning"
    assert rows[-1]["message"].startswith("the log ends here")


async def test_lines_dropped_while_too_many_wait_are_counted_and_said(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is away, or slower than the handlers: the log of a run says what is missing from it."""
    monkeypatch.setattr("sexton.engine.worker.feedback.LOG_LIMIT", 3)
    await store.run()

    async def talk(run: Run) -> None:
        for number in range(5):
            await run.log(f"line {number}")  # does not wait: nothing is written meanwhile

    async with working(store.database, {"work": talk}) as worker:
        await drained(worker)
        assert worker.telemetry.lines_dropped._value.get() == 2
    rows = await store.fetch("select level, message from sexton.run_logs order by at, ctid")
    assert [row["message"] for row in rows[:-1]] == ["line 0", "line 1", "line 2"]
    assert rows[-1]["level"] == "warning"
    assert rows[-1]["message"].startswith("2 lines were dropped here")


async def test_a_worker_that_has_left_is_shown_as_stopped_not_as_dead(store: Store) -> None:
    async with working(store.database, {}, now=lambda: None) as worker:
        await drained(worker)
        [node] = (await get_cluster(Context(store.database))).nodes
        assert (node.name, node.state) == (worker.membership.name, "live")
    [node] = (await get_cluster(Context(store.database))).nodes
    assert node.state == "stopped"
    await store.execute("update sexton.nodes set detail = '{}'")
    [node] = (await get_cluster(Context(store.database))).nodes
    assert node.state == "dead"


@pytest.mark.parametrize("plain", [False, True])
async def test_failed_attempts_are_warnings_in_the_log_and_a_death_is_an_error(
    store: Store, caplog: pytest.LogCaptureFixture, plain: bool
) -> None:
    await store.run(await store.job(max_retries=1))

    def broken(run: Run) -> None:
        raise ValueError("no paper")

    async def as_coroutine(run: Run) -> None:
        broken(run)

    moment = NOW
    handlers = {"work": broken if plain else as_coroutine}
    async with working(store.database, handlers, now=lambda: moment) as worker:
        await drained(worker)
        moment += timedelta(hours=1)
        await drained(worker)
    told = [record for record in caplog.records if "no paper" in record.getMessage()]
    assert [record.levelname for record in told] == ["WARNING", "ERROR"]
    for record in told:
        first = record.getMessage().split("\n\n")[1].splitlines()[0]
        assert first.endswith("in broken" if plain else "in as_coroutine")
        assert "/sexton/" not in record.getMessage()
    assert "attempt 2> failed, and the run is dead (exhausted)" in told[1].getMessage()


async def test_failures_are_kept_out_of_the_log_by_a_setting(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    run = await store.run(await store.job("sexton.fail", max_retries=0), handler="sexton.fail")
    async with working(store.database, {}, log_failures=False) as worker:
        await drained(worker)
    assert (await store.history(run))["status"] == "dead"
    assert "always fails" not in caplog.text


async def test_what_has_begun_is_written_down_for_the_parent_of_the_process(
    store: Store, begun_descriptor: int
) -> None:
    """Neither what waits for a slot nor what has ended."""
    go = asyncio.Event()

    async def work(run: Run) -> None:
        if run._attempt.id != quick:
            await go.wait()

    quick = await store.run(available_at=NOW - timedelta(seconds=1))
    slow, waiting = await store.run(), await store.run()
    settings = msgspec.structs.replace(QUIET, concurrency=1)
    worker = Worker(
        store.database, settings, {"work": work}, now=lambda: NOW, loops=[], begun=begun_descriptor
    )
    await worker.start()
    node = await worker.joined()
    await claim(worker)
    while slow not in worker.state.running:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [run.id for run, _ in worker.state.backlog] == [waiting]
    assert cells_of(begun_descriptor) == (node, {slow})
    go.set()
    await worker.idle()
    assert cells_of(begun_descriptor) == (node, set())
    await worker.stop(0)
    # One that has left in good order has nothing to be told of.
    assert take_begun(begun_descriptor) is None


def cells_of(descriptor: int) -> tuple[int, set[int]]:
    cells = memoryview(os.pread(descriptor, 1 << 20, 0)).cast("q")
    return cells[NODE], set(cells[FIRST_CELL:]) - {0}


@pytest.fixture
def begun_descriptor() -> Iterator[int]:
    made = make_descriptor()
    yield made
    os.close(made)


async def test_a_worker_stops_although_the_database_cannot_record_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise asyncpg.DiskFullError("no space left on device")

    worker = Worker(store.database, QUIET, {}, now=lambda: NOW)
    await worker.start()
    for step in ("drain", "leave"):
        monkeypatch.setattr(worker.membership, step, full)
    await worker.stop(0)
    assert worker.state.node is None
    assert "could not record that it leaves: no space left on device" in caplog.text
