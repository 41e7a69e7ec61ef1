"""Edits and firings lock shards, jobs, timers and runs in this order, so that nobody waits in a ring."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.errors import Conflict
from sexton.jobs.edit import edit
from sexton.jobs.state import delete, pause, resume
from sexton.model import encode_id
from sexton.postgres.database import Connection, Database
from tests.scheduling import Stage, add_job, execute, fetch, hour_before, move_timer, now, runs_of


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    yield await Stage(database).lead()
    await Stage.close_all()


async def due_now(database: Database, job: int, seconds: int = 1) -> None:
    await move_timer(database, job, (await now(database)).replace(microsecond=0) - timedelta(seconds=seconds))


async def blocked_by(database: Database, connection: Connection) -> None:
    """Wait until somebody waits for a lock that this connection holds."""
    pid = connection.get_server_pid()
    async with asyncio.timeout(60):
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
        await editing.fetchrow(database.statement("lock_job"), job)
        firing = asyncio.create_task(stage.round())
        await blocked_by(database, editing)
        await editing.execute("set local lock_timeout = '10ms'")
        held = await editing.fetchrow(database.statement("lock_timer"), job, None)
        assert held is not None
        assert held["job_id"] == job
        await transaction.commit()
    await firing
    stage.scheduler._forget()
    await stage.round()
    assert len(await runs_of(database, job)) == 1


async def test_what_somebody_holds_is_left_out_and_the_others_fire(database: Database, stage: Stage) -> None:
    """An edit that takes long holds up its own job, not those of the same batch."""
    jobs = [await add_job(database, name=f"job-{number}", max_runs=1) for number in range(3)]
    for job in jobs:
        await due_now(database, job)
    async with database.connection() as editing:
        transaction = editing.transaction()
        await transaction.start()
        await editing.fetchrow(database.statement("lock_job"), jobs[1])
        await stage.round()
        assert [len(await runs_of(database, job)) for job in jobs] == [1, 0, 1]
        await editing.fetchrow(database.statement("lock_timer"), jobs[1], None)
        await transaction.commit()
    stage.scheduler._forget()
    await stage.round()
    assert [len(await runs_of(database, job)) for job in jobs] == [1, 1, 1]


KINDS: list[dict[str, Any]] = [
    {"overlap": "SKIP"}, {"overlap": "QUEUE_ONE"}, {"overlap": "CANCEL_RUNNING"}, {"max_runs": 1000}, {},
    {"overlap": "QUEUE_ONE", "max_runs": 3},
]  # fmt: skip


async def test_many_edits_and_firings_at_once(database: Database, stage: Stage) -> None:
    """Nobody meets a deadlock, and nothing fires twice."""
    jobs = [
        await add_job(database, name=f"job-{number}", **KINDS[number % len(KINDS)]) for number in range(24)
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
                            await edit(database, ref, {"description": str(turn)})
                        case 1:
                            await pause(database, ref)
                        case 2:
                            await resume(database, ref)
                        case _:
                            await edit(database, ref, {"max_runs": 1000 + turn})
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
        await delete(database, encode_id("j", job), cancel_running=True)
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
