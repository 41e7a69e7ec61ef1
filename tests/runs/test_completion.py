"""Runs that are carried out elsewhere: who may report, what a report does, and what silence does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from sexton.engine.upkeep.sweeper import expire, reap
from sexton.engine.worker.queue import CLAIM_DEFAULTS
from sexton.errors import Conflict, NotFound, SextonError
from sexton.jobs.state import delete
from sexton.model import Wait, encode_id
from sexton.postgres.database import LOCALLY_BY_KEY, Database
from sexton.postgres.transaction import Context
from sexton.runs import completion as report
from sexton.runs.completion import end_overdue
from sexton.runs.read import get_run
from sexton.runs.trigger import cancel_run
from sexton.targets.face import Run
from tests.engine.test_lock_order import blocked_by
from tests.seeding import (
    NOW,
    Store,
    claim,
    settled,
    working,
)

LATER = NOW + timedelta(seconds=120)
PATIENTLY = "set local idle_in_transaction_session_timeout = 0"  # however slow the test is


class Sent(Store):
    """Runs that a worker has sent on."""

    async def send(self, *, seconds: float = 60, **columns: Any) -> tuple[int, str]:
        """Let a worker send one on; the run and its token."""
        tokens: list[str] = []

        async def hand_over(run: Run) -> Wait:
            tokens.append(await run.token())
            return Wait(seconds)

        options = columns.pop("options", {})
        run = await self.run(await self.job(**options), **columns)
        await self.work(hand_over)
        return run, tokens[0]

    async def work(self, handler: Any) -> None:
        async with working(self.database, {"work": handler}) as worker:
            await claim(worker, [await self.lane()], 10)
            await settled(worker)
            assert worker.telemetry.lost._value.get() == 0

    async def complete(self, run: int, token: str, result: Any = None) -> str:
        told = await report.complete(Context(self.database, now=LATER), encode_id("r", run), token, result)
        return told.status

    async def fail(self, run: int, token: str, error: str = "no", **how: Any) -> str:
        told = await report.fail(Context(self.database, now=LATER), encode_id("r", run), token, error, **how)
        return told.status

    async def beat(self, run: int, token: str, **how: Any) -> report.Beat:
        return await report.heartbeat(Context(self.database, now=LATER), encode_id("r", run), token, **how)


@pytest_asyncio.fixture
async def store(database: Database) -> Sent:
    return Sent(database)


async def test_a_run_that_was_sent_on_waits_without_a_worker(store: Sent, database: Database) -> None:
    run, _ = await store.send(seconds=90)
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["deadline_at"]) == (
        "waiting",
        1,
        NOW + timedelta(seconds=90),
    )
    assert await store.fetch("select from sexton.attempts") == []
    shown = await get_run(Context(database, now=NOW), run)
    assert (shown.status, shown.next_attempt_at, shown.deadline_at) == ("waiting", None, live["deadline_at"])
    assert shown.waiting_for is not None
    assert "has not reported yet" in shown.waiting_for
    assert [each.outcome for each in shown.attempts] == ["waiting"]


async def test_it_is_not_taken_back_with_its_worker(store: Sent, database: Database) -> None:
    run, token = await store.send()
    await store.execute("update sexton.nodes set state = 'dead', running = 1")
    await reap(Context(database, now=LATER))
    await expire(Context(database, now=LATER))
    assert (await store.live(run))["state"] == "waiting"
    assert await store.complete(run, token) == "success"


async def test_done_is_done_once_however_often_it_is_said(store: Sent) -> None:
    run, token = await store.send()
    node = (await store.live(run))["node"]
    assert await store.complete(run, token, {"rows": 7}) == "success"
    assert await store.complete(run, token, {"rows": 8}) == "success"
    ended = await store.history(run)
    assert (ended["status"], ended["attempt"], ended["claim"], ended["node"]) == ("success", 1, 1, node)
    assert (ended["started_at"], ended["finished_at"]) == (NOW, LATER)
    assert msgspec.json.decode(ended["result"]) == {"rows": 7}
    with pytest.raises(Conflict, match="ended already: success"):
        await store.fail(run, token)
    with pytest.raises(Conflict, match="ended already: success"):
        await store.beat(run, token)


async def test_a_failure_is_tried_again_as_the_job_says(store: Sent) -> None:
    run, token = await store.send(options={"max_retries": 1, "retry_base_seconds": 30})
    assert await store.fail(run, token, "no disk") == "failed"
    live = await store.live(run)
    assert (live["state"], live["error"], live["node"]) == ("failed", "no disk", None)
    assert live["available_at"] == LATER + timedelta(seconds=30)
    assert await store.fail(run, token, "no disk") == "failed"
    [attempt] = await store.fetch("select * from sexton.attempts")
    assert (attempt["outcome"], attempt["started_at"], attempt["finished_at"]) == ("failed", NOW, LATER)
    with pytest.raises(Conflict, match="deadline of this attempt") as over:
        await store.complete(run, token)
    assert over.value.code == "not_waiting"


async def test_when_to_try_again_may_be_said(store: Sent) -> None:
    run, token = await store.send()
    await store.fail(run, token, retry_after=7.0)
    assert (await store.live(run))["available_at"] == LATER + timedelta(seconds=7)


@pytest.mark.parametrize(
    ("options", "how", "reason"),
    [({"max_retries": 0}, {}, "exhausted"), ({}, {"permanent": True}, "permanent")],
)
async def test_the_last_failure_is_a_dead_letter(
    store: Sent, options: dict[str, Any], how: dict[str, Any], reason: str
) -> None:
    run, token = await store.send(options=options)
    assert await store.fail(run, token, "no", **how) == "dead"
    assert await store.fail(run, token, "no", **how) == "dead"
    ended = await store.history(run)
    assert (ended["status"], ended["reason"], ended["error"]) == ("dead", reason, "no")
    assert (await store.row("select * from sexton.dead"))["run_id"] == run


async def test_the_policies_are_those_of_the_runs_revision(store: Sent) -> None:
    run, token = await store.send(options={"max_retries": 0})
    await store.execute(
        """insert into sexton.job_revisions (job_id, revision, definition)
        select id, revision, to_jsonb(job) from sexton.jobs as job"""
    )
    await store.execute("""update sexton.jobs set revision = 2, options = '{"max_retries": 9}'""")
    assert await store.fail(run, token) == "dead"


async def test_a_token_is_good_for_one_run_and_one_attempt(store: Sent) -> None:
    run, token = await store.send()
    other, other_token = await store.send()
    for bad in ("", "1", "x.y", "1.", other_token, token[:-1] + ("A" if token[-1] != "A" else "B"), "é"):
        with pytest.raises(SextonError) as refused:
            await store.complete(run, bad)
        assert refused.value.code == "bad_token"
    await store.fail(run, token, retry_after=0.0)
    await store.execute("update sexton.runs set available_at = $1 where id = $2", NOW, run)
    tokens: list[str] = []

    async def again(context: Run) -> Wait:
        tokens.append(await context.token())
        return Wait(60)

    await store.work(again)
    for call in (store.complete, store.fail, store.beat):
        with pytest.raises(Conflict) as stale:
            await call(run, token)
        assert stale.value.code == "stale_token"
    assert (await store.live(run))["state"] == "waiting"
    assert await store.complete(run, tokens[0]) == "success"
    assert await store.complete(other, other_token) == "success"


async def test_a_token_is_not_good_for_another_run_of_the_same_id(store: Sent) -> None:
    """A failover has lost the run, and its id was given to another one, which was claimed as often."""
    run, token = await store.send()
    await store.execute("delete from sexton.runs")
    tokens: list[str] = []

    async def again(context: Run) -> Wait:
        tokens.append(await context.token())
        return Wait(60)

    assert await store.run(id=run) == run
    await store.work(again)
    assert (await store.live(run))["claim"] == 1
    for call in (store.complete, store.fail, store.beat):
        with pytest.raises(Conflict, match="which the database lost in a failover") as stale:
            await call(run, token)
        assert stale.value.code == "stale_token"
    assert await store.complete(run, tokens[0]) == "success"
    with pytest.raises(Conflict, match="ended already"):  # not "success": that was another one's
        await store.complete(run, token)


async def test_a_run_that_never_was(store: Sent, database: Database) -> None:
    key = await report.read_key(Context(database))
    with pytest.raises(NotFound):
        await store.complete(999, report.token_of(key, 999, 1, NOW))
    with pytest.raises(NotFound):
        await report.complete(Context(database), "nonsense", "1.x")


async def test_a_report_that_comes_before_the_wait_is_recorded_counts(store: Sent) -> None:
    async def quick(context: Run) -> Wait:
        assert await store.complete(context._attempt.id, await context.token(), "early") == "success"
        return Wait(60)

    run = await store.run()
    await store.work(quick)
    ended = await store.history(run)
    assert (ended["status"], ended["result"]) == ("success", '"early"')


async def test_a_failure_that_comes_before_the_wait_is_recorded_counts(store: Sent) -> None:
    async def quick(context: Run) -> Wait:
        assert await store.fail(context._attempt.id, await context.token(), "early") == "failed"
        return Wait(60)

    run = await store.run()
    await store.work(quick)
    live = await store.live(run)
    assert (live["state"], live["error"]) == ("failed", "early")


async def test_a_report_counts_though_the_worker_died_before_it_recorded_the_wait(
    store: Sent, database: Database
) -> None:
    run, node = await store.run(), await store.node()
    await database.fetch(
        "claiming/claim", node=node, lanes=[await store.lane()], limit=1, now=NOW, **CLAIM_DEFAULTS
    )
    await store.execute("update sexton.nodes set state = 'dead', running = 1")
    token = await store.token(run)
    assert (await store.beat(run, token)).status == "running"
    assert await store.complete(run, token) == "success"
    await reap(Context(database, now=LATER))
    assert await store.statuses() == {run: "success"}


async def test_silence_is_a_timeout_and_tried_again(store: Sent, database: Database) -> None:
    run, token = await store.send(seconds=60)
    kept, _ = await store.send(seconds=600)
    await end_overdue(Context(database, now=NOW + timedelta(seconds=59)), 10)
    assert (await store.live(run))["state"] == "waiting"
    await end_overdue(Context(database, now=LATER), 10)
    live = await store.live(run)
    assert (live["state"], live["available_at"]) == ("failed", LATER + timedelta(seconds=60))
    assert live["error"].startswith("timeout: no report came within 120 seconds")
    [attempt] = await store.fetch("select * from sexton.attempts")
    assert (attempt["outcome"], attempt["attempt"]) == ("timeout", 1)
    assert (await store.live(kept))["state"] == "waiting"
    with pytest.raises(Conflict):
        await store.complete(run, token)


async def test_a_report_under_way_is_not_overtaken_by_the_timeout(store: Sent, database: Database) -> None:
    run, token = await store.send(seconds=60)
    async with database.transaction() as reporting:
        told = await report.complete(
            Context(database, now=LATER, connection=reporting), encode_id("r", run), token, 7
        )
        assert told == report.Told("success")
        await reporting.execute(PATIENTLY)
        await end_overdue(Context(database, now=LATER), 10)
    assert await store.statuses() == {run: "success"}
    assert await store.fetch("select from sexton.attempts") == []


@pytest.mark.parametrize(("retries", "code"), [(3, "not_waiting"), (0, "run_ended")])
async def test_a_report_that_waits_for_the_timeout_comes_too_late(
    store: Sent, database: Database, retries: int, code: str
) -> None:
    run, token = await store.send(seconds=60, options={"max_retries": retries})
    async with database.transaction() as ending:
        context = Context(database, now=LATER, connection=ending)
        rows = await context.fetch("recording/lock_overdue", now=LATER, limit=10)
        await report.settle(context, [(row, report.silence(row)) for row in rows])
        reporting = asyncio.create_task(store.complete(run, token))
        await blocked_by(database, ending)
    with pytest.raises(Conflict) as refused:
        await reporting
    assert refused.value.code == code
    assert "success" not in (await store.statuses()).values()


async def test_of_two_reports_at_once_one_counts(store: Sent, database: Database) -> None:
    run, token = await store.send()
    async with database.transaction() as first:
        await report.complete(Context(database, now=LATER, connection=first), encode_id("r", run), token, 1)
        await first.execute(PATIENTLY)
        repeated = asyncio.create_task(
            report.complete(Context(database, now=LATER), encode_id("r", run), token, 1)
        )
        failed = asyncio.create_task(store.fail(run, token))
        await blocked_by(database, first)
    assert await repeated == report.Told("success", again=True)
    with pytest.raises(Conflict):
        await failed
    assert await store.statuses() == {run: "success"}


async def test_silence_too_often_is_death(store: Sent, database: Database) -> None:
    runs = [(await store.send(options={"max_retries": 0}))[0] for _ in range(3)]
    await end_overdue(Context(database, now=LATER), 10)
    assert await store.statuses() == dict.fromkeys(runs, "dead")
    assert {row["reason"] for row in await store.fetch("select * from sexton.dead")} == {"exhausted"}


async def test_a_heartbeat_gives_more_time_and_never_less(store: Sent, database: Database) -> None:
    run, token = await store.send(seconds=600, options={"timeout_seconds": 100})
    beat = await store.beat(run, token, progress={"fraction": 0.5})
    assert (beat.status, beat.deadline_at) == ("waiting", NOW + timedelta(seconds=600))
    beat = await store.beat(run, token, seconds=900)
    assert beat.deadline_at == LATER + timedelta(seconds=900)
    assert (await get_run(Context(database, now=NOW), run)).progress == {"fraction": 0.5}
    await end_overdue(Context(database, now=LATER + timedelta(seconds=800)), 10)
    assert await store.complete(run, token) == "success"


async def test_a_heartbeat_lasts_as_long_as_an_attempt_may(store: Sent) -> None:
    run, token = await store.send(seconds=60, options={"timeout_seconds": 100})
    assert (await store.beat(run, token)).deadline_at == LATER + timedelta(seconds=100)


async def test_cancelling_ends_it_at_once_and_the_service_learns_of_it(
    store: Sent, database: Database
) -> None:
    run, token = await store.send()
    assert await cancel_run(Context(database, now=LATER), encode_id("r", run), reason="wrong") == "cancelled"
    ended = await store.history(run)
    assert (ended["status"], ended["reason"], ended["started_at"]) == ("cancelled", "wrong", NOW)
    for call in (store.complete, store.beat):
        with pytest.raises(Conflict, match="cancelled"):
            await call(run, token)


async def test_one_that_must_make_room_ends_at_the_next_sweep(store: Sent, database: Database) -> None:
    run, token = await store.send(slot=0)
    job = (await store.live(run))["job_id"]
    queued = await store.run(job, slot=1, available_at=NOW + timedelta(days=999))
    await store.execute(
        "update sexton.runs set cancel_requested_at = $1, cancel_reason = 'make room' where id = $2", NOW, run
    )
    beat = await store.beat(run, token, seconds=10_000)
    assert (beat.cancel_requested, beat.deadline_at) == (True, NOW + timedelta(seconds=60))
    await end_overdue(Context(database, now=NOW), 10)
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("cancelled", "make room")
    promoted = await store.live(queued)
    assert (promoted["slot"], promoted["available_at"]) == (0, NOW)


async def test_its_end_lets_the_next_one_go(store: Sent) -> None:
    run, token = await store.send(slot=0)
    job = (await store.live(run))["job_id"]
    queued = await store.run(job, slot=1, available_at=NOW + timedelta(days=999))
    await store.complete(run, token)
    promoted = await store.live(queued)
    assert (promoted["slot"], promoted["available_at"]) == (0, LATER)


async def test_a_failure_of_one_that_is_to_be_cancelled_ends_it(store: Sent) -> None:
    run, token = await store.send()
    await store.execute("update sexton.runs set cancel_requested_at = $1, cancel_reason = 'enough'", NOW)
    assert await store.fail(run, token) == "cancelled"
    assert await store.fail(run, token) == "cancelled"


@pytest.mark.parametrize("cancel_running", [False, True])
async def test_the_deletion_of_its_job_ends_it_only_if_asked(
    store: Sent, database: Database, cancel_running: bool
) -> None:
    run, token = await store.send()
    job = (await store.live(run))["job_id"]
    await delete(Context(database), encode_id("j", job), cancel_running=cancel_running)
    if cancel_running:
        assert (await store.history(run))["status"] == "cancelled"
    else:
        assert await store.complete(run, token) == "success"


async def test_what_is_overdue_is_found_by_its_index(store: Sent, database: Database) -> None:
    await store.send()
    text, arguments = database.prepared("recording/lock_overdue", now=LATER, limit=100)
    async with database.transaction() as connection:
        await connection.execute(LOCALLY_BY_KEY)
        plan = "\n".join(row[0] for row in await connection.fetch(f"explain {text}", *arguments))
    assert "runs_waiting" in plan
    assert "Seq Scan on runs" not in plan
