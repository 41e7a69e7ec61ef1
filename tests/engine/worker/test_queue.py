"""The queue's statements: who gets which run, and what becomes of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from sexton.engine.doorbells.base import Ring
from sexton.engine.doorbells.postgres import PostgresDoorbell
from sexton.engine.worker.queue import CLAIM_DEFAULTS, RunQueue
from sexton.postgres.database import Database
from sexton.runs.outcomes import Successes
from tests.plans import explain
from tests.seeding import NOW, Store

SOON = NOW + timedelta(seconds=30)
BEGAN = NOW.timestamp()


async def finish(queue: RunQueue, node: int, *runs: tuple[int, int], at: datetime = NOW) -> set[int]:
    ids, claims = [run for run, _ in runs], [claim for _, claim in runs]
    times = [BEGAN] * len(runs)
    done = Successes(ids, claims, [1] * len(runs), times, times, [None] * len(runs))
    return await queue.finish(node, done, now=at)


async def test_a_claim_takes_what_is_due_and_marks_it(store: Store, queue: RunQueue) -> None:
    job = await store.job(payload={"n": 1}, timeout_seconds=120)
    run, later = await store.run(job), await store.run(job, available_at=SOON)
    node = await store.node()
    [row] = await queue.claim(node, [await store.lane()], 10, now=NOW)
    assert (row["id"], row["claim"], row["attempt"], row["payload"]) == (run, 1, 1, '{"n": 1}')
    live = await store.live(run)
    assert (live["state"], live["node"], live["claimed_at"]) == ("running", node, NOW)
    assert live["deadline_at"] == NOW + timedelta(seconds=120)
    assert (await store.live(later))["state"] == "pending"
    assert await queue.claim(node, [await store.lane()], 10, now=NOW) == []


async def test_two_claims_never_share_a_run(store: Store, queue: RunQueue, database: Database) -> None:
    runs = {await store.run() for _ in range(6)}
    one, other, lane = await store.node(), await store.node(), await store.lane()
    async with database.transaction() as connection:
        rows = await database.fetch(
            "claiming/claim", on=connection, node=one, lanes=[lane], limit=4, now=NOW, **CLAIM_DEFAULTS
        )
        first = {row["id"] for row in rows}
        # The first claim is not committed: its rows are passed over, not waited for.
        second = {row["id"] for row in await queue.claim(other, [lane], 4, now=NOW)}
    assert (len(first), len(second)) == (4, 2)
    assert first | second == runs


async def test_the_runs_own_payload_comes_before_the_jobs(store: Store, queue: RunQueue) -> None:
    await store.run(await store.job(payload={"n": 1}), payload='{"n": 2}')
    [row] = await queue.claim(await store.node(), [await store.lane()], 10, now=NOW)
    assert msgspec.json.decode(row["payload"]) == {"n": 2}


async def test_higher_priorities_come_first_and_older_ones_within(store: Store, queue: RunQueue) -> None:
    low = await store.run(priority=3, available_at=NOW - timedelta(hours=2))
    young = await store.run(priority=2)
    old = await store.run(priority=2, available_at=NOW - timedelta(hours=1))
    high = await store.run(priority=0)
    other = await store.run(handler="other", priority=1)
    lanes = [await store.lane(), await store.lane("other")]
    rows = await queue.claim(await store.node(), lanes, 10, now=NOW)
    assert [row["id"] for row in rows] == [high, other, old, young, low]


async def test_a_lane_that_no_worker_serves_is_in_no_ones_way(store: Store, queue: RunQueue) -> None:
    job = await store.job("nobody")
    await store.execute(
        """insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
        select $1, $2, 0, $3, $3, $3, 1 from generate_series(1, 500)""",
        job,
        await store.lane("nobody"),
        NOW - timedelta(days=1),
    )
    run = await store.run()
    rows = await queue.claim(await store.node(), [await store.lane()], 10, now=NOW)
    assert [row["id"] for row in rows] == [run]


async def test_a_node_that_is_not_live_claims_nothing(store: Store, queue: RunQueue) -> None:
    await store.run()
    for state in ("dead", "draining"):
        assert await queue.claim(await store.node(state=state), [await store.lane()], 10, now=NOW) == []
    assert await queue.claim(4711, [await store.lane()], 10, now=NOW) == []


async def test_the_first_claim_fixes_the_revision(store: Store, queue: RunQueue) -> None:
    job = await store.job(payload="old", max_retries=1)
    run, node, lanes = await store.run(job), await store.node(), [await store.lane()]
    await edit(store, job, payload="new")
    [row] = await queue.claim(node, lanes, 10, now=NOW)
    assert (row["payload"], row["revision"]) == ('"new"', 2)
    await queue.retry(node, [(run, 1, BEGAN, BEGAN, 0.0, "failed", "x")], now=NOW)
    await edit(store, job, payload="newer")
    [row] = await queue.claim(node, lanes, 10, now=NOW)
    assert (row["payload"], row["revision"], row["attempt"]) == ('"new"', 2, 2)
    assert msgspec.json.decode(row["options"]) == {"max_retries": 1}


async def edit(store: Store, job: int, *, payload: object) -> None:
    """What an edit does: keep the old definition, write the new one."""
    await store.execute(
        """insert into sexton.job_revisions (job_id, revision, definition)
        select id, revision, to_jsonb(job) from sexton.jobs as job where id = $1""",
        job,
    )
    await store.execute(
        "update sexton.jobs set revision = revision + 1, payload = $2 where id = $1",
        job,
        msgspec.json.encode(payload).decode(),
    )


async def test_expired_runs_are_recorded_and_not_run(store: Store, queue: RunQueue) -> None:
    run = await store.run(expires_at=NOW)
    fresh = await store.run(expires_at=SOON)
    rows = await queue.claim(await store.node(), [await store.lane()], 10, now=NOW)
    assert [row["id"] for row in rows] == [fresh]
    ended = await store.history(run)
    assert (ended["status"], ended["attempt"], ended["started_at"]) == ("expired", 0, None)


async def test_expiry_is_checked_before_every_attempt(store: Store, queue: RunQueue) -> None:
    run, node, lanes = await store.run(expires_at=SOON), await store.node(), [await store.lane()]
    await queue.claim(node, lanes, 10, now=NOW)
    await queue.retry(node, [(run, 1, BEGAN, BEGAN, 30.0, "failed", "boom")], now=NOW)
    assert await queue.claim(node, lanes, 10, now=SOON) == []
    ended = await store.history(run)
    assert (ended["status"], ended["attempt"], ended["error"]) == ("expired", 1, "boom")


async def test_a_waiting_run_that_was_asked_to_stop_is_not_claimed(store: Store, queue: RunQueue) -> None:
    run = await store.run(cancel_requested_at=NOW, cancel_reason="the next occurrence is due")
    assert await queue.claim(await store.node(), [await store.lane()], 10, now=NOW) == []
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("cancelled", "the next occurrence is due")


async def test_a_finished_run_is_history(store: Store, queue: RunQueue) -> None:
    job = await store.job()
    run, node = await store.run(job, trigger="catch_up", missed=True, idempotency_key="k"), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    done = Successes([run], [1], [job], [BEGAN + 1], [BEGAN + 2], ['{"ok": true}'])
    assert await queue.finish(node, done, now=SOON) == set()
    assert await store.fetch("select from sexton.runs") == []
    ended = await store.history(run)
    assert (ended["status"], ended["job_id"], ended["node"], ended["claim"]) == ("success", job, node, 1)
    assert (ended["trigger"], ended["missed"], ended["idempotency_key"]) == ("catch_up", True, "k")
    assert (ended["started_at"], ended["finished_at"]) == (
        NOW + timedelta(seconds=1),
        NOW + timedelta(seconds=2),
    )
    assert (ended["recorded_at"], ended["attempt"], ended["result"]) == (SOON, 1, '{"ok": true}')


async def test_a_second_finish_finds_nothing(store: Store, queue: RunQueue) -> None:
    run, node = await store.run(), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    assert await finish(queue, node, (run, 1)) == set()
    assert await finish(queue, node, (run, 1)) == {run}
    assert len(await store.fetch("select from sexton.history")) == 1


async def test_a_lost_claim_touches_nothing(store: Store, queue: RunQueue) -> None:
    run, kept = await store.run(), await store.run()
    node, thief, lanes = await store.node(), await store.node(), [await store.lane()]
    await queue.claim(node, lanes, 10, now=NOW)
    await queue.release(node, [(run, 1, None)], now=NOW)
    await queue.claim(thief, lanes, 10, now=NOW)
    before = await store.live(run)
    assert await finish(queue, node, (run, 1), (kept, 1)) == {run}
    assert await queue.end(
        node, [(run, 1, BEGAN, BEGAN, "dead", "exhausted", "failed", "x", "x")], now=NOW
    ) == {run}
    assert await queue.retry(node, [(run, 1, BEGAN, BEGAN, 0.0, "failed", "x")], now=NOW) == {run}
    assert await queue.release(node, [(run, 1, None)], now=NOW) == {run}
    await queue.progress(node, [(run, 1, '{"fraction": 1}')])
    await queue.log(node, [(run, 1, BEGAN, "info", "hello")], now=NOW)
    assert await store.live(run) == before
    assert await store.statuses() == {kept: "success"}
    for table in ("attempts", "dead", "run_logs"):
        assert await store.fetch(f"select from sexton.{table}") == []


async def test_an_old_claim_of_the_same_node_is_lost_too(store: Store, queue: RunQueue) -> None:
    run, node, lanes = await store.run(), await store.node(), [await store.lane()]
    await queue.claim(node, lanes, 10, now=NOW)
    await queue.release(node, [(run, 1, None)], now=NOW)
    [row] = await queue.claim(node, lanes, 10, now=NOW)
    assert (row["claim"], row["attempt"]) == (2, 1)
    assert await finish(queue, node, (run, 1)) == {run}
    assert await finish(queue, node, (run, 2)) == set()


async def test_a_failed_run_waits_for_its_next_attempt(store: Store, queue: RunQueue) -> None:
    run, node, lanes = await store.run(), await store.node(), [await store.lane()]
    await queue.claim(node, lanes, 10, now=NOW)
    assert await queue.retry(node, [(run, 1, BEGAN, BEGAN + 1, 60.0, "failed", "boom")], now=NOW) == set()
    live = await store.live(run)
    assert (live["state"], live["node"], live["error"]) == ("failed", None, "boom")
    assert live["available_at"] == NOW + timedelta(seconds=60)
    tried = await store.row("select * from sexton.attempts")
    assert (tried["run_id"], tried["attempt"], tried["outcome"], tried["error"]) == (run, 1, "failed", "boom")
    assert await queue.claim(node, lanes, 10, now=NOW + timedelta(seconds=59)) == []
    [row] = await queue.claim(node, lanes, 10, now=NOW + timedelta(seconds=60))
    assert (row["attempt"], row["claim"]) == (2, 2)


async def test_a_snoozed_run_has_used_up_no_attempt(store: Store, queue: RunQueue) -> None:
    run, node, lanes = await store.run(), await store.node(), [await store.lane()]
    await queue.claim(node, lanes, 10, now=NOW)
    await queue.retry(node, [(run, 1, BEGAN, BEGAN, 30.0, "snoozed", None)], now=NOW)
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["available_at"]) == ("pending", 0, SOON)
    [row] = await queue.claim(node, lanes, 10, now=SOON)
    assert (row["attempt"], row["claim"]) == (1, 2)


async def test_a_run_to_be_retried_that_was_cancelled_ends(store: Store, queue: RunQueue) -> None:
    run, node = await store.run(), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    outcome = await store.database.fetchval(
        "recording/cancel_runs", namespace="default", run_ids=[run], reason="enough", now=NOW
    )
    assert outcome == "requested"
    await queue.retry(node, [(run, 1, BEGAN, BEGAN, 60.0, "failed", "boom")], now=NOW)
    ended = await store.history(run)
    assert (ended["status"], ended["reason"], ended["error"]) == ("cancelled", "enough", "boom")
    assert await store.fetch("select from sexton.runs") == []


async def test_a_dead_run_leaves_a_dead_letter(store: Store, queue: RunQueue) -> None:
    run, node = await store.run(payload='{"n": 1}', idempotency_key="k"), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    end = (run, 1, BEGAN, BEGAN, "dead", "exhausted", "failed", "boom 12", "boom #")
    assert await queue.end(node, [end], now=NOW) == set()
    assert (await store.history(run))["status"] == "dead"
    dead = await store.row("select * from sexton.dead")
    assert (dead["run_id"], dead["reason"], dead["error"], dead["error_group"]) == (
        run,
        "exhausted",
        "boom 12",
        "boom #",
    )
    assert (dead["payload"], dead["idempotency_key"], dead["attempt"]) == ('{"n": 1}', "k", 1)
    assert await store.value("select outcome from sexton.attempts where run_id = $1", run) == "failed"


async def test_the_end_of_a_run_lets_the_queued_one_go(store: Store, queue: RunQueue) -> None:
    node, lanes = await store.node(), [await store.lane()]
    far = datetime(9999, 1, 1, tzinfo=UTC)

    async def pair() -> tuple[int, int]:
        job = await store.job()
        return await store.run(job, slot=0), await store.run(job, slot=1, available_at=far)

    done, dead, cancelled, waiting = [await pair() for _ in range(4)]
    bystander = await store.run(await store.job(), slot=1, available_at=far)
    rows = await queue.claim(node, lanes, 10, now=NOW)
    assert {row["id"] for row in rows} == {done[0], dead[0], cancelled[0], waiting[0]}
    await finish(queue, node, (done[0], 1))
    await queue.end(
        node,
        [
            (dead[0], 1, BEGAN, BEGAN, "dead", "permanent", "failed", "x", "x"),
            (cancelled[0], 1, BEGAN, BEGAN, "cancelled", "no", "cancelled", "no", None),
        ],
        now=NOW,
    )
    await queue.retry(node, [(waiting[0], 1, BEGAN, BEGAN, 60.0, "failed", "x")], now=NOW)
    for _, queued in (done, dead, cancelled):
        live = await store.live(queued)
        assert (live["slot"], live["available_at"]) == (0, NOW)
    # A retry is not an end, and another job's queued run stays.
    for queued in (waiting[1], bystander):
        live = await store.live(queued)
        assert (live["slot"], live["available_at"]) == (1, far)


async def test_an_expired_run_lets_the_queued_one_go(store: Store, queue: RunQueue) -> None:
    job = await store.job()
    await store.run(job, slot=0, expires_at=NOW)
    queued = await store.run(job, slot=1, available_at=SOON)
    await queue.claim(await store.node(), [await store.lane()], 10, now=NOW)
    live = await store.live(queued)
    assert (live["slot"], live["available_at"]) == (0, NOW)


async def test_released_runs_are_as_if_never_claimed(store: Store, queue: RunQueue) -> None:
    run, node = await store.run(), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    assert await queue.release(node, [(run, 1, None)], now=SOON) == set()
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["claim"], live["node"]) == ("pending", 0, 1, None)
    assert live["available_at"] == SOON


async def test_history_knows_the_claims_it_has_recorded(store: Store, queue: RunQueue) -> None:
    job = await store.job()
    run, other, node = await store.run(job), await store.run(job), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    await finish(queue, node, (run, 1))
    assert await queue.recorded(node, [(run, 1, job), (other, 1, job)], NOW) == {run}
    assert await queue.recorded(node, [(run, 2, job)], NOW) == set()
    assert await queue.recorded(node + 1, [(run, 1, job)], NOW) == set()
    assert await queue.recorded(node, [(run, 1, job)], SOON) == set()


async def test_what_a_node_holds_unknowingly_is_given_back(store: Store, queue: RunQueue) -> None:
    known, unknown, others = await store.run(), await store.run(), await store.run()
    node, other, lanes = await store.node(), await store.node(), [await store.lane()]
    await queue.claim(node, lanes, 2, now=NOW)
    await queue.claim(other, lanes, 1, now=NOW)
    assert await queue.release_unknown(node, [known], now=SOON) == 1
    live = await store.live(unknown)
    assert (live["state"], live["attempt"], live["node"], live["available_at"]) == ("pending", 0, None, SOON)
    assert (await store.live(known))["node"] == node
    assert (await store.live(others))["node"] == other


async def test_logs_and_progress_are_kept_with_the_run(store: Store, queue: RunQueue) -> None:
    run, node = await store.run(), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    await queue.progress(node, [(run, 1, '{"fraction": 0.5}')])
    await queue.log(node, [(run, 1, BEGAN, "info", "one"), (run, 1, BEGAN + 1, "warning", "two")], now=NOW)
    assert (await store.live(run))["progress"] == '{"fraction": 0.5}'
    lines = await store.fetch("select * from sexton.run_logs order by at")
    assert [(line["level"], line["message"], line["attempt"]) for line in lines] == [
        ("info", "one", 1),
        ("warning", "two", 1),
    ]


async def test_a_missing_partition_is_made_by_the_writer(store: Store, queue: RunQueue) -> None:
    run, node = await store.run(), await store.node()
    await queue.claim(node, [await store.lane()], 10, now=NOW)
    at = NOW + timedelta(days=400)
    assert await finish(queue, node, (run, 1), at=at) == set()
    assert (await store.history(run))["recorded_at"] == at


async def test_a_suspect_is_claimed_only_as_such(store: Store, queue: RunQueue) -> None:
    run, node, lanes = await store.run(crashes=2, company=1), await store.node(), [await store.lane()]
    assert await queue.claim(node, lanes, 10, now=NOW) == []
    assert await queue.claim_by_id(node, lanes, [run], now=NOW) == []
    assert (await queue.suspects(lanes, now=NOW)).lanes == set(lanes)
    assert (await queue.suspects([await store.lane("other")], now=NOW)).lanes == set()
    [row] = await queue.claim_suspects(node, lanes, 10, now=NOW)
    assert (row["id"], row["claim"], row["crashes"], row["company"]) == (run, 1, 2, 1)
    assert await queue.claim_suspects(node, lanes, 10, now=NOW) == []


async def test_suspects_are_claimed_together_as_far_as_each_of_them_allows(
    store: Store, queue: RunQueue
) -> None:
    node, lanes = await store.node(), [await store.lane()]
    later = NOW + timedelta(seconds=1)
    weak = [await store.run(company=4) for _ in range(6)]
    strong = await store.run(company=1, available_at=later)

    async def claimed(limit: int, **more: Any) -> list[int]:
        rows = await queue.claim_suspects(node, lanes, limit, now=later, **more)
        return sorted(row["id"] for row in rows)

    # The one that has waited longest decides how many.
    assert await claimed(100) == weak[:4]
    # Beside others, only those that may be with as many.
    assert await claimed(1, company=4) == weak[4:5]
    assert await claimed(1, company=5) == []
    # A worker without slots for more takes fewer.
    assert await claimed(1) == weak[5:]
    assert await claimed(100) == [strong]


async def test_the_jobs_of_those_that_run_alone_and_of_poison_are_suspected(
    store: Store, queue: RunQueue
) -> None:
    """Not those of runs that only may be guilty, and not for ever."""
    lanes = [await store.lane()]
    alone, dead, old, exhausted = [await store.job() for _ in range(4)]
    await store.run(alone, company=1, crashes=1)
    await store.run(company=2, crashes=1)
    await store.run(company=1)
    bury = """insert into sexton.dead (run_id, job_id, died_at, reason, error_group, lane, priority,
        scheduled_at, due_at, revision, trigger, missed, attempt)
        values ($1, $1, $2, $3, '', 1, 2, $2, $2, 1, 'schedule', false, 1)"""
    await store.execute(bury, dead, NOW - timedelta(minutes=59), "poison")
    await store.execute(bury, old, NOW - timedelta(minutes=61), "poison")
    await store.execute(bury, exhausted, NOW, "exhausted")
    assert (await queue.suspects(lanes, now=NOW)).jobs == {alone, dead}


async def test_cancelling_ends_what_waits_and_asks_what_runs(store: Store, queue: RunQueue) -> None:
    job = await store.job()
    running, waiting, other = await store.run(job), await store.run(job, available_at=SOON), await store.run()
    node = await store.node()
    await queue.claim(node, [await store.lane()], 1, now=NOW)
    counts = await store.database.fetchrow(
        "jobs/cancel_runs", job_ids=[job], running=False, reason="deleted", now=NOW
    )
    assert counts is not None
    assert dict(counts) == {"cancelled": 1, "requested": 0}
    assert await store.statuses() == {waiting: "cancelled"}
    counts = await store.database.fetchrow(
        "jobs/cancel_runs", job_ids=[job], running=True, reason="deleted", now=NOW
    )
    assert counts is not None
    assert dict(counts) == {"cancelled": 0, "requested": 1}
    assert (await store.live(running))["cancel_requested_at"] == NOW
    assert (await store.live(other))["cancel_requested_at"] is None
    assert (
        await store.database.fetch(
            "recording/cancel_runs", namespace="default", run_ids=[waiting], reason=None, now=NOW
        )
        == []
    )


async def test_the_claim_goes_by_its_index(store: Store, queue: RunQueue, database: Database) -> None:
    """Also right after the statistics were taken of a nearly empty table, and with many runs elsewhere."""
    lane, crowded = await store.lane(), await store.lane("crowded")
    node, job = await store.node(), await store.job()
    await store.execute("analyze sexton.runs")
    await store.execute(
        """insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
        select $1, case when n % 10 = 0 then $2::int else $3::int end, 2, $4, $4, $4, 1
        from generate_series(1, 5000) as n""",
        job,
        lane,
        crowded,
        NOW,
    )
    async with queue.connection() as connection:
        scans = await explain(
            connection,
            *database.prepared(
                "claiming/claim", node=node, lanes=[lane], limit=100, now=NOW, **CLAIM_DEFAULTS
            ),
        )
    assert not [scan for scan in scans if scan["Node Type"] == "Seq Scan"]
    [claimable] = [scan for scan in scans if scan.get("Index Name") == "runs_claimable"]
    assert claimable["Actual Rows"] * claimable["Actual Loops"] <= 101
    [lock] = [scan for scan in scans if scan["Node Type"] == "LockRows"]
    assert lock["Actual Rows"] * lock["Actual Loops"] <= 101


async def test_the_doorbell_hears_its_channels(store: Store, database: Database) -> None:
    rings: asyncio.Queue[Ring] = asyncio.Queue()
    bell = PostgresDoorbell(database)
    await bell.listen(rings.put_nowait)
    for channel, ring in (("sexton_runs", "runs"), ("sexton_lanes", "lanes"), ("sexton_cancels", "cancels")):
        await store.execute("select pg_notify($1, '1')", channel)
        assert await rings.get() == ring
    await store.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sexton doorbell'"
    )
    while bell._connection is not None and not bell._connection.is_closed():
        await store.fetch("select 1")
    assert await bell.check()
    assert {await rings.get(), await rings.get()} == {"lanes", "runs"}
    await store.execute("select pg_notify('sexton_runs', '')")
    assert await rings.get() == "runs"
    await bell.close()


async def test_no_attempt_begins_before_its_claim(store: Store, queue: RunQueue) -> None:
    """The worker only estimates the database's time."""
    node, lanes, early = await store.node(), [await store.lane()], BEGAN - 5
    again, dead = await store.run(), await store.run()
    await queue.claim(node, lanes, 10, now=NOW)
    assert not await queue.retry(node, [(again, 1, early, early + 2, 0.0, "failed", "x")], now=NOW)
    assert not await queue.end(node, [(dead, 1, early, early + 2, "dead", "x", "failed", "x", "g")], now=NOW)
    rows = await store.fetch("select started_at, finished_at from sexton.attempts")
    assert [tuple(row) for row in rows] == [(NOW, NOW + timedelta(seconds=2))] * 2
