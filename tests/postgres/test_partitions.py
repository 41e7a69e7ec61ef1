"""A process that has something to record and finds no partition for it makes one, and loses nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest
import pytest_asyncio

from sexton.jobs.edit import edit
from sexton.jobs.state import delete, pause, resume
from sexton.postgres.database import Database
from sexton.postgres.partitions import DAILY, make_missing, make_partitions
from sexton.postgres.transaction import Context
from tests.scheduling import Stage, add_job, execute, fetch, hour_before, move_timer, now, runs_of, skips_of


@pytest_asyncio.fixture
async def bare(own_database_url: str) -> AsyncIterator[Database]:
    """A database without a single partition."""
    database = await Database.open(own_database_url, size=5)
    for row in await fetch(database, "select tablename from pg_tables where tablename ~ '_[0-9]{8}$'"):
        await execute(database, f"drop table sexton.{row['tablename']}")
    yield database
    await Stage.close_all()
    await database.close()


async def missed(database: Database, name: str = "job", **fields: object) -> int:
    job = await add_job(database, name=name, missed_window="SKIP", **fields)
    await move_timer(database, job, hour_before(await now(database), 3))
    return job


async def test_catching_up(bare: Database) -> None:
    job = await missed(bare)
    stage = await Stage(bare).lead()
    assert await stage.round() == 0.0
    await stage.round()
    assert sum(occurrences for _, _, occurrences in await skips_of(bare, job)) >= 3


async def test_an_occurrence_that_overlaps(bare: Database) -> None:
    job = await add_job(bare, overlap="SKIP")
    stage = await Stage(bare).lead()
    moment = (await now(bare)).replace(microsecond=0) - timedelta(seconds=1)
    for back in (1, 0):
        await move_timer(bare, job, moment - timedelta(seconds=back))
        stage.scheduler._forget()
        await stage.round()
        await stage.round()
    assert len(await runs_of(bare, job)) == 1
    assert await skips_of(bare, job) == [(moment, "overlap", 1)]


@pytest.mark.parametrize("command", ["edit", "pause", "delete"])
async def test_commands(bare: Database, command: str) -> None:
    job = await missed(bare)
    match command:
        case "edit":
            await edit(Context(bare), "job", {"schedule": "30 * * * *"})
        case "pause":
            await pause(Context(bare), "job")
        case "delete":
            await delete(Context(bare), "job")
    assert sum(occurrences for _, _, occurrences in await skips_of(bare, job)) >= 3


async def test_what_fell_due_during_a_pause(bare: Database) -> None:
    job = await add_job(bare)
    await pause(Context(bare), "job")
    await execute(
        bare,
        "update sexton.timers set scheduled_at = $2 where job_id = $1",
        job,
        hour_before(await now(bare), 2),
    )
    await resume(Context(bare), "job")
    assert {reason for _, reason, _ in await skips_of(bare, job)} == {"paused"}


async def test_in_the_transaction_of_the_caller(bare: Database) -> None:
    """As with an Idempotency-Key: what was written before stays written."""
    job = await missed(bare)
    async with bare.transaction() as connection:
        await connection.execute("insert into sexton.settings (name, value) values ('before', '1')")
        await delete(Context(bare, connection=connection), "job")
    assert sum(occurrences for _, _, occurrences in await skips_of(bare, job)) >= 3
    assert await fetch(bare, "select value from sexton.settings where name = 'before'") != []


async def test_any_other_violation_is_raised(bare: Database) -> None:
    async with bare.connection() as connection:
        with pytest.raises(asyncpg.CheckViolationError) as caught:
            await connection.execute(
                """insert into sexton.jobs (name, kind, schedule, timezone, timing_key, target, status)
                values ('a', 'cron', '* * * * *', 'UTC', gen_random_uuid(), '{}', 'odd')"""
            )
    with pytest.raises(asyncpg.CheckViolationError):
        await make_missing(bare, caught.value)
    assert await make_partitions(bare, days=0) == 2 * len(DAILY)
