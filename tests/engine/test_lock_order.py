"""Edits and firings lock shards, jobs, timers and runs in this order, so that no two wait for each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.engine.worker.queue import RunQueue
from sexton.errors import Conflict
from sexton.jobs.edit import edit
from sexton.jobs.state import delete, pause, resume
from sexton.model import decode_id, encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context
from sexton.runs.outcomes import Successes
from sexton.runs.trigger import cancel_run, run_now
from tests.scheduling import Stage, add_job, execute, fetch, hour_before, move_timer, now, runs_of
from tests.waiting import PATIENCE


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    yield await Stage(database).lead()
    await Stage.close_all()


async def due_now(database: Database, job: int, seconds: int = 1) -> None:
    await move_timer(database, job, (await now(database)).replace(microsecond=0) - timedelta(seconds=seconds))


async def blocked_by(database: Database, connection: Connection) -> None:
    """Wait until another session waits for a lock that this connection holds."""
    pid = connection.get_server_pid()
    async with asyncio.timeout(PATIENCE):
        while not await fetch(
            database, "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))", pid
        ):
            await asyncio.sleep(0)


async def in_its_grace(database: Database, job: int) -> None:
    await due_now(database, job)


async def missed(database: Database, job: int) -> None:
    await move_timer(database, job, hour_before(await now(database), 2))


@pytest.mark.parametrize("place", [in_its_grace, missed])
async def test_the_last_firing_waits_for_an_edit_without_holding_what_the_edit_needs(
    database: Database, stage: Stage, place: Any
) -> None:
    """An edit locks the job and then its timer. A firing that completes the job must not hold the timer while
    it waits for the job."""
    job = await add_job(database, max_runs=1)
    await place(database, job)
    async with database.connection() as editing:
        transaction = editing.transaction()
        await transaction.start()
        await database.fetchrow("jobs/lock", on=editing, job_ids=[job])
        firing = asyncio.create_task(stage.round())
        await blocked_by(database, editing)
        await editing.execute("set local lock_timeout = '10ms'")
        held = await database.fetchrow(
            "jobs/lock_timers", on=editing, namespace="default", job_ids=[job], now=None
        )
        assert held is not None
        assert held["job_id"] == job
        await transaction.commit()
    await firing
    stage.scheduler._forget()
    await stage.round()
    assert len(await runs_of(database, job)) == 1


async def test_locked_jobs_are_left_out_and_the_others_fire(database: Database, stage: Stage) -> None:
    """An edit that takes long holds up its own job, not those of the same batch."""
    jobs = [await add_job(database, name=f"job-{number}", max_runs=1) for number in range(3)]
    for job in jobs:
        await due_now(database, job)
    async with database.connection() as editing:
        transaction = editing.transaction()
        await transaction.start()
        await database.fetchrow("jobs/lock", on=editing, job_ids=[jobs[1]])
        await stage.round()
        assert [len(await runs_of(database, job)) for job in jobs] == [1, 0, 1]
        await database.fetchrow(
            "jobs/lock_timers", on=editing, namespace="default", job_ids=[jobs[1]], now=None
        )
        await transaction.commit()
    stage.scheduler._forget()
    await stage.round()
    assert [len(await runs_of(database, job)) for job in jobs] == [1, 1, 1]


async def running_once(database: Database, stage: Stage, place: Any, **fields: Any) -> list[int]:
    """Three jobs whose last run is under way and whose next occurrence has come."""
    jobs = [await add_job(database, name=f"job-{number}", **fields) for number in range(3)]
    for job in jobs:
        await due_now(database, job, 2)
    await stage.round()
    await execute(database, "update sexton.runs set state = 'running', node = 1, claim = 1, attempt = 1")
    for job in jobs:
        await place(database, job)
    stage.scheduler._forget()
    return jobs


@pytest.mark.parametrize("place", [in_its_grace, missed])
async def test_a_firing_that_cancels_does_not_wait_for_locked_runs(
    database: Database, stage: Stage, place: Any
) -> None:
    """A worker that ends a batch of runs locks them in some order. A firing that asks the same runs to end
    could wait in a ring with it; so it leaves out those that are held, and the sweeper asks them if they go
    on."""
    jobs = await running_once(database, stage, place, overlap="CANCEL_RUNNING")
    async with database.transaction() as ending:
        await ending.fetch("select from sexton.runs where job_id = $1 for update", jobs[1])
        await stage.round()
        assert [len(await runs_of(database, job)) for job in jobs] == [2, 2, 2]
        assert await asked_to_end(database) == {jobs[0], jobs[2]}
    await Sweeper(database, Settings(), Telemetry(), steady=lambda: False).sweep()
    assert await asked_to_end(database) == set(jobs)


async def asked_to_end(database: Database) -> set[int]:
    rows = await fetch(
        database, "select job_id from sexton.runs where slot = 0 and cancel_requested_at is not null"
    )
    return {row["job_id"] for row in rows}


@pytest.mark.parametrize("place", [in_its_grace, missed])
@pytest.mark.parametrize("overlap", ["SKIP", "QUEUE_ONE", "CANCEL_RUNNING"])
async def test_a_run_that_takes_long_to_end_holds_up_its_own_job_alone(
    database: Database, stage: Stage, place: Any, overlap: str
) -> None:
    """Its worker was stopped between the end of the run and COMMIT: whether there is room for the next run
    is not known before that. The other jobs fire."""
    jobs = await running_once(database, stage, place, overlap=overlap)
    async with database.transaction() as ending:
        await ending.execute("delete from sexton.runs where job_id = $1", jobs[1])
        await stage.round()
        assert [len(await occurrences(database, job)) for job in jobs] == [2, 1, 2]
    stage.scheduler._forget()
    await stage.round()
    assert [len(await occurrences(database, job)) for job in jobs] == [2, 1, 2]
    [run] = await runs_of(database, jobs[1])
    assert (run["slot"], run["state"]) == (0, "pending")


async def occurrences(database: Database, job: int) -> list[Any]:
    """Those that have a run or were skipped."""
    return await fetch(
        database,
        """select scheduled_at from sexton.runs where job_id = $1
        union select scheduled_at from sexton.history where job_id = $1 and reason = 'overlap'""",
        job,
    )


Ender = Callable[[RunQueue, list[int]], Awaitable[object]]
ENDERS: dict[str, Ender] = {
    "finish": lambda queue, runs: queue.finish(
        1, Successes(runs, [1] * 3, [1] * 3, [0.0] * 3, [0.0] * 3, [None] * 3)
    ),
    "end": lambda queue, runs: queue.end(
        1, [(run, 1, 0.0, 0.0, "cancelled", "", "cancelled", "", None) for run in runs]
    ),
    "retry": lambda queue, runs: queue.retry(1, [(run, 1, 0.0, 0.0, 0.0, "failed", "") for run in runs]),
    "release": lambda queue, runs: queue.release(1, [(run, 1, None) for run in runs]),
    "wait": lambda queue, runs: queue.wait(1, [(run, 1, 60.0) for run in runs]),
    "progress": lambda queue, runs: queue.progress(1, [(run, 1, "{}") for run in runs]),
    "fix_keys": lambda queue, runs: queue.fix_keys(1, [(run, 1, "key") for run in runs]),
    "count_in": lambda queue, runs: queue.count_in(1, runs),
}


@pytest.mark.parametrize("ender", ENDERS)
async def test_a_deletion_and_a_batch_of_outcomes_lock_runs_in_one_order(
    database: Database, monkeypatch: pytest.MonkeyPatch, ender: str
) -> None:
    """Both come as far as the run in the middle, which is locked; then each must be able to go on."""
    monkeypatch.setattr("sexton.postgres.transaction.TRIES", 1)
    job = await add_job(database)
    rows = await fetch(
        database,
        """insert into sexton.runs
            (job_id, lane, priority, available_at, scheduled_at, due_at, revision, state, node, claim)
        select job_id, lane, 2, now(), now(), now(), 1, 'running', 1, 1
        from sexton.timers, generate_series(1, 3) where job_id = $1 returning id""",
        job,
    )
    runs = sorted((row["id"] for row in rows), reverse=True)
    await execute(database, "insert into sexton.queues (name) values ('default')")
    queue = RunQueue(database)
    await queue.open()
    async with database.transaction() as holder:
        await holder.fetch("select from sexton.runs where id = $1 for update", runs[1])
        deleting = asyncio.create_task(delete(Context(database), encode_id("j", job), cancel_running=True))
        await blocked_by(database, holder)
        outcomes = asyncio.ensure_future(ENDERS[ender](queue, runs))
        await waiting(database, 2, outcomes)
    await deleting
    await outcomes
    await queue.close()


@pytest.mark.parametrize("template", [None, "{{job_id}}"])
async def test_an_edit_and_the_end_of_the_live_run_at_once_let_the_next_one_go(
    database: Database, monkeypatch: pytest.MonkeyPatch, template: str | None
) -> None:
    """Both lock the live run first and then the queued one, which goes next although it was edited."""
    monkeypatch.setattr("sexton.postgres.transaction.TRIES", 1)
    job = await add_job(database, overlap="QUEUE_ONE", idempotency_key_template=template)
    rows = await fetch(
        database,
        """insert into sexton.runs
            (job_id, lane, priority, available_at, scheduled_at, due_at, revision, slot)
        select job_id, lane, 2, now(), now() - place * interval '1 hour', now(), 1, slot
        from sexton.timers, (values (0, 0), (1, null), (2, 1)) as wanted (place, slot) where job_id = $1
        order by scheduled_at returning id, slot""",
        job,
    )
    numbers = {row["slot"]: row["id"] for row in rows}
    async with database.transaction() as holder:
        await holder.fetch("select from sexton.runs where id = $1 for update", numbers[None])
        editing = asyncio.create_task(edit(Context(database), encode_id("j", job), {"payload": {"a": 1}}))
        await blocked_by(database, holder)
        cancelling = asyncio.create_task(cancel_run(Context(database), encode_id("r", numbers[0])))
        await waiting(database, 2, cancelling)
    await editing
    assert await cancelling == "cancelled"
    assert {row["slot"] for row in await runs_of(database, job)} == {None, 0}


async def waiting(database: Database, sessions: int, last: asyncio.Future[Any]) -> None:
    """Until so many sessions wait for others, or the last one need not."""
    async with asyncio.timeout(PATIENCE):
        while not last.done() and len(await fetch(database, BLOCKED)) < sessions:
            await asyncio.sleep(0)


BLOCKED = """select from pg_stat_activity
where datname = current_database() and pg_blocking_pids(pid) <> '{}'"""


IDLE = "show idle_in_transaction_session_timeout"


@pytest.mark.parametrize("change", ["cancel", "delete", "edit", "report"])
async def test_who_is_stopped_with_runs_locked_does_not_keep_them(database: Database, change: str) -> None:
    """Workers record the outcomes of many runs together: all of them would wait for one."""
    job = await add_job(database)
    ref = encode_id("j", job)
    run = await run_now(Context(database), ref)
    async with database.transaction() as stopped:
        match change:
            case "cancel":
                await cancel_run(Context(database, connection=stopped), run)
            case "delete":
                await delete(Context(database, connection=stopped), ref)
            case "edit":
                await edit(Context(database, connection=stopped), ref, {"payload": 1})
            case _:
                await database.fetch(
                    "recording/lock_reported", on=stopped, run_id=decode_id("r", run), now=None
                )
        assert await stopped.fetchval(IDLE) == "5s"


async def test_who_is_stopped_in_the_middle_of_a_firing_does_not_keep_its_jobs(database: Database) -> None:
    """What is locked is fired around in a transaction of several statements."""
    stage = Stage(database, lease_seconds=4)
    await stage.scheduler._connect()
    assert stage.scheduler._connection is not None
    assert await stage.scheduler._connection.fetchval(IDLE) == "12s"
    await Stage.close_all()


KINDS: list[dict[str, Any]] = [
    {"overlap": "SKIP"}, {"overlap": "QUEUE_ONE"}, {"overlap": "CANCEL_RUNNING"}, {"max_runs": 1000}, {},
    {"overlap": "QUEUE_ONE", "max_runs": 3},
]  # fmt: skip


async def test_many_edits_and_firings_at_once(database: Database, stage: Stage) -> None:
    """There is no deadlock, and nothing fires twice."""
    # Once a year: a timer that is moved back over an occurrence would fire it again.
    jobs = [
        await add_job(database, name=f"job-{number}", schedule="0 0 1 1 *", **KINDS[number % len(KINDS)])
        for number in range(24)
    ]
    before = await deadlocks(database)
    over = asyncio.Event()

    async def edits(first: int) -> None:
        turn = 0
        while not over.is_set():
            for job in jobs[first::3]:
                turn += 1
                ref = encode_id("j", job)
                try:
                    match turn % 4:
                        case 0:
                            await edit(Context(database), ref, {"description": str(turn)})
                        case 1:
                            await pause(Context(database), ref)
                        case 2:
                            await resume(Context(database), ref)
                        case _:
                            await edit(Context(database), ref, {"max_runs": 1000 + turn})
                except Conflict:
                    continue  # it is over

    tasks = [asyncio.create_task(edits(first)) for first in range(3)]
    try:
        for turn in range(25):
            moment = (await now(database)).replace(microsecond=0) - timedelta(seconds=30 - turn)
            await execute(
                database,
                """update sexton.timers set scheduled_at = $1, due_at = $1
                where due_at < 'infinity' and scheduled_at > clock_timestamp()""",
                moment,
            )
            stage.scheduler._forget()
            await stage.round()
    finally:
        over.set()
        await asyncio.gather(*tasks)
    for job in jobs:
        await delete(Context(database), encode_id("j", job), cancel_running=True)
    assert await deadlocks(database) == before
    doubled = await fetch(
        database,
        """select job_id, scheduled_at from (
            select job_id, scheduled_at from sexton.runs
            union all
            select job_id, scheduled_at from sexton.history where run_id is not null
        ) as fired group by 1, 2 having count(*) > 1""",
    )
    assert doubled == []


async def deadlocks(database: Database) -> int:
    await execute(database, "select pg_stat_clear_snapshot()")
    [[count]] = await fetch(
        database, "select deadlocks from pg_stat_database where datname = current_database()"
    )
    return int(count)
