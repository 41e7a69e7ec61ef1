"""A run that was queued at the very moment its predecessor ended, and not promoted: the sweeper does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.trigger import cancel_run
from tests.engine.test_lock_order import blocked_by
from tests.scheduling import Stage, add_job, execute, fetch, move_timer, now, runs_of


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    yield await Stage(database).lead()
    await Stage.close_all()


def sweeper(database: Database) -> Sweeper:
    return Sweeper(database, Settings(), Telemetry(), steady=lambda: True)


async def due_now(database: Database, stage: Stage, job: int, seconds: int) -> None:
    await move_timer(database, job, (await now(database)).replace(microsecond=0) - timedelta(seconds=seconds))
    stage.scheduler._forget()


async def make_orphan(database: Database, stage: Stage) -> tuple[int, asyncpg.Record]:
    """A firing queues a run while the one before it is alive; that one ends and finds no run to promote, for
    the firing is not committed yet."""
    job = await add_job(database, overlap="QUEUE_ONE")
    await due_now(database, stage, job, 2)
    await stage.round()
    [live] = await runs_of(database, job)
    await due_now(database, stage, job, 1)
    assert stage.scheduler._connection is not None
    async with stage.scheduler._connection.transaction():
        await stage.round()
        await cancel_run(Context(database), encode_id("r", live["id"]))
    [orphan] = await runs_of(database, job)
    assert orphan["id"] != live["id"]
    assert orphan["slot"] == 1
    assert await fetch(database, "select from sexton.runs where available_at = 'infinity'") != []
    return job, orphan


async def test_the_sweeper_promotes_it(database: Database, stage: Stage) -> None:
    job, orphan = await make_orphan(database, stage)
    await sweeper(database).sweep()
    [run] = await runs_of(database, job)
    assert (run["id"], run["slot"]) == (orphan["id"], 0)
    assert run["available_at"] <= await now(database)


async def test_a_firing_that_takes_the_place_first_keeps_it(database: Database, stage: Stage) -> None:
    job, orphan = await make_orphan(database, stage)
    async with database.connection() as firing:
        transaction = firing.transaction()
        await transaction.start()
        await firing.execute(
            """insert into sexton.runs
                (job_id, lane, priority, available_at, scheduled_at, due_at, revision, slot)
            select job_id, lane, priority, due_at, scheduled_at + interval '1 hour', due_at, revision, 0
            from sexton.runs where id = $1""",
            orphan["id"],
        )
        sweeping = asyncio.create_task(sweeper(database).sweep())
        await blocked_by(database, firing)
        await transaction.commit()
    await sweeping
    slots = {run["id"]: run["slot"] for run in await runs_of(database, job)}
    assert slots[orphan["id"]] == 1
    assert sorted(slots.values()) == [0, 1]
    await execute(database, "delete from sexton.runs where job_id = $1 and slot = 0", job)
    await sweeper(database).sweep()
    [run] = await runs_of(database, job)
    assert run["slot"] == 0
