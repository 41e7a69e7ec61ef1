"""Taking back the runs of dead workers, expiry, partitions, retention."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.begun import Begun
from sexton.engine.cluster.death import ProcessEnd, report_death
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.engine.upkeep.sweeper import Sweeper, reap
from sexton.engine.worker.queue import RunQueue
from sexton.errors import NotFound, Unavailable
from sexton.jobs.create import create
from sexton.jobs.read import get
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import pause
from sexton.postgres.database import Database
from sexton.postgres.partitions import (
    DAILY,
    DAYS_AHEAD,
    drop_old_partitions,
    make_partitions,
    partition_name,
)
from sexton.postgres.transaction import Context
from sexton.runs.outcomes import Successes
from sexton.runs.read import require_job
from sexton.targets.face import Run
from tests.seeding import (
    NOW,
    Store,
    claim,
    settled,
    working,
)
from tests.waiting import until

LATER = NOW + timedelta(minutes=1)


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


@pytest_asyncio.fixture
async def own(own_database_url: str) -> AsyncIterator[Store]:
    database = await Database.open(own_database_url, size=3)
    yield Store(database)
    await database.close()


def sweeper(store: Store, *, steady: bool = True, at: datetime = NOW) -> Sweeper:
    return Sweeper(store.database, Settings(), Telemetry(), steady=lambda: steady, now=lambda: at)


async def died(
    store: Store, begun: list[int] | None, how: str | None = "exit code 3", own: bool = True
) -> int:
    """A worker that died holding runs: which had begun, and how it ended. None: no parent has seen it."""
    node = await store.node(lease_until=NOW - timedelta(seconds=1), state="dead")
    await store.execute(
        "update sexton.nodes set running = 1, begun = $2, ended_by = $3, own_end = $4 where id = $1",
        node, begun, how, own and how is not None,
    )  # fmt: skip
    return node


async def held(store: Store, **columns: Any) -> int:
    """A run in the hands of a worker that is still to die."""
    return await store.run(**{"state": "running", "claim": 1, "attempt": 1, "claimed_at": NOW, **columns})


async def takes(store: Store, node: int, *runs: int) -> None:
    await store.execute("update sexton.runs set node = $1 where id = any ($2)", node, list(runs))


async def running_on_a_dead_worker(store: Store, **columns: Any) -> tuple[int, int]:
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    columns = {"attempt": 1, "claim": 1, **columns}
    run = await store.run(state="running", node=node, claimed_at=NOW, deadline_at=LATER, **columns)
    return run, node


async def test_the_runs_of_a_dead_worker_go_back_and_the_crash_counts(store: Store) -> None:
    run, node = await running_on_a_dead_worker(store)
    await sweeper(store).tick()
    live = await store.live(run)
    assert (live["state"], live["crashes"], live["node"], live["claim"]) == ("pending", 1, None, 1)
    assert live["available_at"] == NOW
    assert await store.value("select state from sexton.nodes where id = $1", node) == "dead"
    tried = await store.row("select outcome, error from sexton.attempts")
    assert tried["outcome"] == "crashed"
    assert "test:1:abc died" in tried["error"]


async def test_only_runs_that_had_begun_are_charged(store: Store) -> None:
    """The others are as if they had not been claimed: they waited, or had ended and were not recorded yet."""
    begun, waiting = await held(store), await held(store, attempt=4, crashes=1)
    await takes(store, await died(store, [begun, 999]), begun, waiting)
    await sweeper(store).tick()
    live = await store.live(begun)
    assert (live["state"], live["attempt"], live["crashes"]) == ("pending", 1, 1)
    live = await store.live(waiting)
    assert (live["state"], live["attempt"], live["crashes"], live["company"]) == ("failed", 3, 1, 0)
    assert (live["error"], live["available_at"]) == (None, NOW)
    tried = await store.row("select run_id, error from sexton.attempts")
    assert tuple(tried) == (begun, "the worker test:1:abc died while it ran this: exit code 3")


async def test_a_process_that_ended_itself_makes_suspects_of_what_had_begun(store: Store) -> None:
    """A quarter of them may be together, and the one that began last is the first to be suspected."""
    runs = [await held(store) for _ in range(9)]
    await takes(store, await died(store, runs[1:]), *runs)
    await sweeper(store).tick()
    assert [(await store.live(run))["company"] for run in runs] == [0, *[2] * 7, 1]


@pytest.mark.parametrize("begun", [True, False])
async def test_what_was_killed_from_outside_is_suspected_at_the_third_time(store: Store, begun: bool) -> None:
    """Also if no parent has seen how it ended, and which of its runs had begun."""
    runs = [await held(store, crashes=crashes, attempt=crashes + 1) for crashes in (0, 1, 2, 2)]
    how = ("signal 9 (SIGKILL)", False) if begun else (None, False)
    await takes(store, await died(store, runs if begun else None, *how), *runs)
    await sweeper(store).tick()
    assert [(await store.live(run))["company"] for run in runs] == [0, 0, 1, 1]
    assert [(await store.live(run))["crashes"] for run in runs] == [1, 2, 3, 3]


async def test_what_only_sends_something_is_not_suspected(store: Store) -> None:
    handler = await held(store, crashes=2)
    http = await held(store, lane=await store.lane(target="http"), crashes=8)
    await takes(store, await died(store, [handler, http]), handler, http)
    await sweeper(store).tick()
    assert [(await store.live(run))["company"] for run in (handler, http)] == [1, 0]
    assert (await store.live(http))["crashes"] == 9


async def test_suspects_are_divided_until_the_guilty_one_is_alone(store: Store) -> None:
    """However many there are, it is found after a few crashes, and no other run ends as poison."""
    runs = [await store.run() for _ in range(100)]
    guilty, company, crashes = runs[37], 100, 0
    while guilty not in await store.statuses():
        live = await store.live(guilty)
        together = [row["id"] for row in await store.fetch("select id from sexton.runs where company > 0")]
        others = [run for run in together if run != guilty][: max(live["company"], 1) - 1]
        began = [*others, guilty] if crashes else runs
        await store.execute(
            "update sexton.runs set state = 'running', attempt = attempt + 1 where id = any ($1)", began
        )
        # Another one began last: the first suspicion is wrong.
        await takes(store, await died(store, [guilty, *others] if crashes else runs), *began)
        await sweeper(store).tick()
        company, crashes = live["company"], crashes + 1
    assert await store.statuses() == {guilty: "dead"}
    assert (company, crashes) == (1, 4)


@pytest.mark.parametrize(
    ("how", "own", "crashes"), [("exit code 3", True, 3), ("signal 9 (SIGKILL)", False, 5), (None, False, 10)]
)
async def test_a_run_that_ends_its_process_alone_is_poison(
    store: Store, how: str | None, own: bool, crashes: int
) -> None:
    """The less is known of the end, the more of them it takes."""
    before = await held(store, company=1, crashes=crashes - 2)
    run = await held(store, company=1, crashes=crashes - 1)
    beside = await held(store, company=2, crashes=crashes)
    for each in (before, run, beside):
        await takes(store, await died(store, None if how is None else [each], how, own), each)
    await sweeper(store).tick()
    assert await store.statuses() == {run: "dead"}
    assert (await store.history(run))["reason"] == "poison"
    letter = await store.row("select reason, error from sexton.dead")
    told = "" if how is None else f": {how}"
    assert tuple(letter) == ("poison", f"the worker test:1:abc died while it ran this alone{told}")
    assert [(await store.live(each))["company"] for each in (before, beside)] == [1, 1]


async def test_the_next_poison_of_a_job_takes_one_crash(store: Store) -> None:
    job = await store.job()
    first = await held(store, job=job, company=1, crashes=2)
    await takes(store, await died(store, [first]), first)
    await sweeper(store).tick()
    second = await held(store, job=job, company=1)
    await takes(store, await died(store, [second]), second)
    await sweeper(store).tick()
    assert await store.statuses() == {first: "dead", second: "dead"}


async def test_a_worker_that_left_in_good_order_charges_no_run(store: Store) -> None:
    """Though it could not record or give back all that it had."""
    node = await store.node()
    run = await held(store, node=node)
    await store.database.execute("cluster/leave", node=node)
    await sweeper(store).tick()
    live = await store.live(run)
    assert (live["state"], live["attempt"], live["crashes"]) == ("pending", 0, 0)


async def test_a_death_that_is_reported_is_noticed_at_once(store: Store) -> None:
    """The lease of the worker would still be good for an hour."""
    node = await store.node(lease_until=LATER)
    begun, waiting = await held(store, node=node), await held(store, node=node)
    await report_death(store.database, Begun(node, [begun]), ProcessEnd("exit code 3", own=True))
    await sweeper(store, at=datetime.now(UTC)).tick()
    assert [(await store.live(run))["crashes"] for run in (begun, waiting)] == [1, 0]
    # It is not told twice.
    await report_death(store.database, Begun(node, []), ProcessEnd("exit code 4", own=True))
    assert await store.value("select ended_by from sexton.nodes where id = $1", node) == "exit code 3"


async def test_a_cancelled_run_of_a_dead_worker_ends(store: Store) -> None:
    run, _ = await running_on_a_dead_worker(store, cancel_requested_at=NOW, cancel_reason="enough")
    await sweeper(store).tick()
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("cancelled", "enough")


async def test_the_poison_of_a_queue_of_one_lets_the_next_run_go(store: Store) -> None:
    job = await store.job()
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    await store.run(job, slot=0, state="running", node=node, claim=3, crashes=9, company=1)
    queued = await store.run(job, slot=1, available_at=datetime(9999, 1, 1, tzinfo=UTC))
    await sweeper(store).tick()
    live = await store.live(queued)
    assert (live["slot"], live["available_at"]) == (0, NOW)


async def test_a_sweeper_that_has_not_renewed_steadily_declares_no_node_dead(store: Store) -> None:
    """After an outage of the database every lease has ended, and no node is dead."""
    run, node = await running_on_a_dead_worker(store)
    await sweeper(store, steady=False).tick()
    assert (await store.live(run))["state"] == "running"
    assert await store.value("select state from sexton.nodes where id = $1", node) == "live"


async def test_a_live_worker_keeps_its_runs(store: Store) -> None:
    node = await store.node(lease_until=LATER)
    run = await store.run(state="running", node=node, claim=1)
    await sweeper(store).tick()
    assert (await store.live(run))["node"] == node


async def test_a_claim_that_was_under_way_when_its_node_died_is_found(store: Store) -> None:
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    await sweeper(store).tick()
    await sweeper(store).tick()
    run = await store.run(state="running", node=node, claim=1, attempt=1)
    await sweeper(store, at=LATER).tick()
    assert (await store.live(run))["state"] == "pending"


async def test_a_node_declared_dead_long_ago_still_loses_its_runs(store: Store) -> None:
    """The sweeper that declared it dead died before it could take the runs back."""
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    run = await store.run(state="running", node=node, claim=1, attempt=1)
    await store.database.execute("cluster/declare_dead", now=NOW)
    day_later = NOW + timedelta(hours=11)
    await sweeper(store, at=day_later).tick()
    assert (await store.live(run))["state"] == "pending"
    await sweeper(store, at=day_later).tick()
    # It holds nothing any more: no sweeper has to look at it again.
    assert await store.value("select running from sexton.nodes where id = $1", node) == 0


async def test_a_dead_node_is_looked_at_at_once_and_after_a_minute(store: Store) -> None:
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    await sweeper(store).tick()
    run = await store.run(state="running", node=node, claim=1, attempt=1)
    # There is no index on nodes, so it is not looked at all the time.
    await sweeper(store, at=NOW + timedelta(seconds=30)).tick()
    assert (await store.live(run))["state"] == "running"
    await sweeper(store, at=LATER).tick()
    assert (await store.live(run))["state"] == "pending"
    assert await store.value("select running from sexton.nodes where id = $1", node) > 0
    await sweeper(store, at=LATER).tick()
    assert await store.value("select running from sexton.nodes where id = $1", node) == 0


async def test_scheduler_nodes_are_not_its_business(store: Store) -> None:
    node = await store.node(lease_until=NOW - timedelta(hours=1))
    await store.execute("update sexton.nodes set roles = '{scheduler}' where id = $1", node)
    await sweeper(store).tick()
    assert await store.value("select state from sexton.nodes") == "live"


async def test_a_crashed_run_is_run_again_by_another_worker(store: Store) -> None:
    run, _ = await running_on_a_dead_worker(store)
    await sweeper(store).tick()
    attempts = []

    async def work(run: Run) -> None:
        attempts.append((run.attempt, run._attempt.crashes, run._attempt.claim))

    async with working(store.database, {"work": work}) as worker:
        await claim(worker, [await store.lane()], 10)
        await settled(worker)
    assert attempts == [(2, 1, 2)]
    assert await store.statuses() == {run: "success"}


async def test_a_worker_stopped_before_commit_does_not_keep_its_run(store: Store) -> None:
    """A handler has finished its run in its own transaction, and COMMIT does not come any more."""
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    run = await store.run(state="running", node=node, claim=1, attempt=1)
    queue, done = RunQueue(store.database), Successes([run], [1], [1], [0.0], [0.0], [None])
    await queue.open()

    async def taken_back() -> bool:
        await reap(Context(store.database, now=NOW))
        return (await store.live(run))["node"] is None

    async def handler() -> None:
        async with queue.lent() as connection, connection.transaction():
            assert await queue.finish_in(connection, node, done, now=NOW) == set()
            await store.database.execute("cluster/declare_dead", now=NOW)
            timeout = "idle_in_transaction_session_timeout"
            assert await connection.fetchval(f"show {timeout}") == "15s"
            assert not await taken_back()
            await connection.execute(f"set local {timeout} = 1")  # as if they were over
            await until(taken_back)

    with pytest.raises(Unavailable):
        await handler()
    assert (await store.live(run))["crashes"] == 1
    await queue.close()


async def test_runs_that_no_worker_serves_expire(store: Store) -> None:
    over, fresh = await store.run(expires_at=NOW), await store.run(expires_at=LATER)
    asked = await store.run(cancel_requested_at=NOW, cancel_reason="no", available_at=LATER)
    node = await store.node(lease_until=LATER)
    running = await store.run(expires_at=NOW, state="running", node=node, claim=1)
    await sweeper(store).tick()
    assert await store.statuses() == {over: "expired", asked: "cancelled"}
    assert (await store.live(fresh))["state"] == "pending"
    assert (await store.live(running))["state"] == "running"


async def test_the_next_run_goes_though_those_before_it_expire_together(store: Store) -> None:
    """Missed runs that wait for each other, of which all but the last have expired."""
    job, far = await store.job(), datetime(9999, 1, 1, tzinfo=UTC)
    await store.run(job, slot=0, expires_at=NOW, available_at=LATER)
    for slot in (-3, -2):
        await store.run(job, slot=slot, expires_at=NOW, available_at=far)
    last = await store.run(job, slot=-1, available_at=far)
    await sweeper(store).sweep(orphans=False)
    assert ((await store.live(last))["slot"], (await store.live(last))["available_at"]) == (0, NOW)


async def test_a_queued_run_without_a_predecessor_is_let_go(store: Store) -> None:
    far = datetime(9999, 1, 1, tzinfo=UTC)
    orphan = await store.run(await store.job(), slot=1, available_at=far)
    job = await store.job()
    await store.run(job, slot=0, available_at=far)
    queued = await store.run(job, slot=1, available_at=far)
    await sweeper(store).tick()
    assert ((await store.live(orphan))["slot"], (await store.live(queued))["slot"]) == (0, 1)
    assert (await store.live(orphan))["available_at"] == NOW


async def test_a_pause_ends_when_it_should_not_at_the_next_sweep(own: Store) -> None:
    spec = JobSpec(name="report", schedule="* * * * *")
    await create(Context(own.database, now=NOW), spec)
    await pause(Context(own.database, now=NOW), "report", until=NOW + timedelta(seconds=3))
    assert await sweeper(own).tick() == 3
    assert (await get(Context(own.database), "report")).status == "paused"
    later = NOW + timedelta(seconds=3)
    assert await sweeper(own, at=later).tick() == Settings().sweep_seconds
    assert (await get(Context(own.database), "report")).status == "active"


async def test_partitions_are_made_ahead_and_only_once(own: Store) -> None:
    at = datetime(2031, 1, 15, 23, 30, tzinfo=UTC)
    assert await make_partitions(own.database, now=at) == len(DAILY) * (DAYS_AHEAD + 2)
    assert await make_partitions(own.database, now=at) == 0
    assert await make_partitions(own.database, now=at + timedelta(days=1)) == len(DAILY)
    for day, exists in ((14, True), (15, True), (30, True), (13, False), (31, False)):
        name = partition_name("history", date(2031, 1, day))
        assert (await own.value("select to_regclass($1)", f"sexton.{name}") is not None) is exists
    await own.execute(
        """insert into sexton.history (recorded_at, job_id, scheduled_at, status)
        values ('2031-01-15 00:00+00', 1, $1, 'skipped'), ('2031-01-15 23:59:59.999+00', 1, $1, 'skipped')""",
        at,
    )
    assert await own.value("select count(*) from sexton.history_20310115") == 2


async def test_partitions_have_the_indexes_of_their_table(own: Store) -> None:
    await make_partitions(own.database, now=NOW, days=0)
    indexes = await own.fetch(
        "select indexdef from pg_indexes where schemaname = 'sexton' and tablename = $1",
        partition_name("history", NOW.date()),
    )
    assert len(indexes) == 3


async def test_old_partitions_are_dropped(own: Store) -> None:
    at = datetime(2031, 1, 15, 12, tzinfo=UTC)
    await make_partitions(own.database, now=at, days=0)
    later = at + timedelta(days=90)
    async with own.database.connection() as connection:
        dropped = await drop_old_partitions(own.database, connection, keep_days=90, now=later)
        assert [name for name in dropped if "2031" in name] == [
            partition_name(table, date(2031, 1, 14)) for table in sorted(DAILY)
        ]
        assert await drop_old_partitions(own.database, connection, keep_days=90, now=later) == []
    assert await own.value("select to_regclass('sexton.history_20310115')") is not None
    assert await own.value("select to_regclass('sexton.history_20310114')") is None


async def test_a_partition_left_half_detached_is_finished(own: Store) -> None:
    """As after a crash between the two halves of DETACH CONCURRENTLY."""
    at = datetime(2031, 1, 15, 12, tzinfo=UTC)
    await make_partitions(own.database, now=at, days=0)
    async with own.database.transaction() as reader:
        # A reader of the partition holds the second half up until the wait is over.
        await reader.execute("select count(*) from sexton.history")
        async with own.database.connection() as connection:
            await connection.execute("set statement_timeout = '100ms'")
            with pytest.raises(Exception, match="statement timeout"):
                await connection.execute(
                    "alter table sexton.history detach partition sexton.history_20310114 concurrently"
                )
            await connection.execute("reset statement_timeout")
    async with own.database.connection() as connection:
        dropped = await drop_old_partitions(
            own.database, connection, keep_days=90, now=at + timedelta(days=90)
        )
    assert "history_20310114" in dropped


async def test_retention_and_writers_of_history_do_not_wait_for_each_other(own: Store) -> None:
    """A transaction that has written and does not end (a handler's, say) puts the dropping off; meanwhile
    others write, and partitions are made."""
    old, at = datetime(2031, 1, 15, 12, tzinfo=UTC), datetime(2031, 4, 15, 12, tzinfo=UTC)
    for day in (old, at):
        await make_partitions(own.database, now=day, days=0)
    insert = "insert into sexton.history (recorded_at, job_id, scheduled_at, status) values ($1, 1, $1, '')"
    async with own.database.connection() as keeping:
        async with own.database.transaction() as writer:
            await writer.execute(insert, at)
            dropped = await drop_old_partitions(own.database, keeping, keep_days=90, now=at)
            assert not any(name.startswith("history") for name in dropped)
            async with own.database.transaction() as other:
                await other.execute("set local lock_timeout = '100ms'")
                await other.execute(insert, at)
            assert await make_partitions(own.database, now=at, days=1) == len(DAILY)
        dropped += await drop_old_partitions(own.database, keeping, keep_days=90, now=at)
    assert {name for name in dropped if "2031" in name} == {
        partition_name(table, date(2031, 1, 14)) for table in DAILY
    }
    assert await own.value("select count(*) from sexton.history") == 2


async def test_a_partition_that_was_detached_but_not_dropped_is_dropped(own: Store) -> None:
    at = datetime(2031, 1, 15, 12, tzinfo=UTC)
    await make_partitions(own.database, now=at, days=0)
    await own.execute("alter table sexton.history detach partition sexton.history_20310114 concurrently")
    async with own.database.connection() as connection:
        dropped = await drop_old_partitions(
            own.database, connection, keep_days=90, now=at + timedelta(days=90)
        )
    assert "history_20310114" in dropped
    assert await own.value("select to_regclass('sexton.history_20310114')") is None


async def test_completed_one_offs_go_after_a_while(own: Store) -> None:
    async def completed(kind: str, ago: timedelta, **options: Any) -> int:
        job = await own.job(kind=kind, **options)
        await own.execute(
            "update sexton.jobs set status = 'completed', completed_at = $2 where id = $1", job, NOW - ago
        )
        return job

    old = await completed("once", timedelta(days=1))
    kept = [
        await completed("once", timedelta(hours=23)),
        await completed("once", timedelta(days=5), keep_completed_seconds=6 * 86_400),
        await completed("cron", timedelta(days=5)),
        await completed("once", timedelta(days=5)),
        await own.job(kind="once"),
    ]
    short = await completed("once", timedelta(seconds=11), keep_completed_seconds=10)
    await own.run(kept[3])
    ended = await completed("once", timedelta(days=5))
    await own.execute(
        """insert into sexton.history (recorded_at, job_id, run_id, scheduled_at, status, trigger)
        values ($2, $1, 1, $3, 'success', 'schedule')""",
        ended,
        NOW - timedelta(hours=23),
        NOW - timedelta(days=5),
    )
    await Housekeeper(own.database, Settings(), now=lambda: NOW).tick()
    rows = await own.fetch("select id from sexton.jobs where status <> 'deleted' order by id")
    assert [row["id"] for row in rows] == sorted([*kept, ended])
    for job in (old, short):
        name = await own.value("select name from sexton.jobs where id = $1", job)
        assert await require_job(Context(own.database), name) == job
        with pytest.raises(NotFound):
            await get(Context(own.database), name)


async def test_deleted_jobs_go_with_their_history(own: Store) -> None:
    async def deleted(ago: timedelta, declaration: str | None = None) -> int:
        job = await own.job()
        await own.execute(
            "update sexton.jobs set status = 'deleted', deleted_at = $2, declaration = $3 where id = $1",
            job,
            NOW - ago,
            declaration,
        )
        await own.execute(
            "insert into sexton.job_revisions (job_id, revision, definition) values ($1, 1, '{}')", job
        )
        return job

    await deleted(timedelta(days=31))
    kept = [await deleted(timedelta(days=29)), await deleted(timedelta(days=31), "jobs.py:7")]
    running = await deleted(timedelta(days=31))
    await own.run(running)
    settings = msgspec.structs.replace(Settings(), retention_days=30)
    await Housekeeper(own.database, settings, now=lambda: NOW).tick()
    left = {row["id"] for row in await own.fetch("select id from sexton.jobs")}
    assert left == {*kept, running}
    assert left == {row["job_id"] for row in await own.fetch("select job_id from sexton.job_revisions")}


async def test_answers_to_requests_are_kept_for_a_day(own: Store) -> None:
    await own.execute(
        """insert into sexton.requests (key, fingerprint, status, headers, body, created_at)
        values ('old', '', 201, '{}', '', $1), ('new', '', 201, '{}', '', $2)""",
        NOW - timedelta(hours=25),
        NOW - timedelta(hours=23),
    )
    await Housekeeper(own.database, Settings(), now=lambda: NOW).tick()
    assert [row["key"] for row in await own.fetch("select key from sexton.requests")] == ["new"]


async def test_long_gone_nodes_are_forgotten_unless_they_are_named(own: Store) -> None:
    gone = await own.node(lease_until=NOW - timedelta(days=2), state="dead")
    named = await own.node(lease_until=NOW - timedelta(days=2), state="dead")
    run = await own.run(state="running", node=named, claim=1, attempt=1)
    fresh = await own.node(lease_until=NOW - timedelta(hours=2), state="dead")
    await Housekeeper(own.database, Settings(), now=lambda: NOW).tick()
    assert {row["id"] for row in await own.fetch("select id from sexton.nodes")} == {named, fresh}
    assert gone not in (named, fresh)
    # It was looked at and found empty once; now it is looked at again.
    await sweeper(own).tick()
    assert (await own.live(run))["state"] == "pending"


async def test_retention_is_a_setting(own: Store) -> None:
    at = datetime(2031, 1, 15, 12, tzinfo=UTC)
    await make_partitions(own.database, now=at, days=0)
    settings = msgspec.structs.replace(Settings(), retention_days=3)
    await Housekeeper(own.database, settings, now=lambda: at + timedelta(days=3)).tick()
    assert await own.value("select to_regclass('sexton.history_20310115')") is not None
    await Housekeeper(own.database, settings, now=lambda: at + timedelta(days=4)).tick()
    assert await own.value("select to_regclass('sexton.history_20310115')") is None
