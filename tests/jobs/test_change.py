"""Every change is one transaction, and survives meeting another."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from sexton.errors import Conflict
from sexton.jobs.change import hold
from sexton.jobs.edit import edit
from sexton.jobs.state import pause
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context, command
from sexton.runs.trigger import run_now
from tests.jobs.making import MINUTE, NOW, at, make, number, row, runs, timer, value


async def waiting(database: Database) -> None:
    """Until a backend waits for a lock."""
    async with database.connection() as connection:
        while not await connection.fetchval("select count(*) from pg_locks where not granted"):
            await asyncio.sleep(0)


async def test_a_change_waits_for_a_firing_and_goes_on_from_there(database: Database) -> None:
    job = await make(database)
    async with database.transaction() as firing:
        await firing.execute(
            database.sql("update sexton.timers set scheduled_at = $1, due_at = $1, fired_count = 1"), at(2)
        )
        change = asyncio.create_task(edit(Context(database, now=at(1)), "report", {"payload": 1}))
        await waiting(database)
    await change
    stored = await timer(database, job)
    assert (stored["scheduled_at"], stored["fired_count"], stored["revision"]) == (at(2), 1, 2)
    assert await runs(database, job) == []


async def test_a_firing_planned_before_the_edit_finds_another_revision(database: Database) -> None:
    job = await make(database)
    before = await timer(database, job)
    await edit(Context(database, now=NOW), "report", {"payload": 1})
    fired = await value(
        database,
        """with fired as (update sexton.timers set fired_count = fired_count + 1
        where job_id = $1 and scheduled_at = $2 and due_at = $3 and revision = $4 returning 1)
        select count(*) from fired""",
        number(job), before["scheduled_at"], before["due_at"], before["revision"],
    )  # fmt: skip
    assert fired == 0


async def test_a_run_that_is_being_claimed_keeps_its_revision(database: Database) -> None:
    job = await make(database)
    await run_now(Context(database, now=NOW), "report")
    async with database.transaction() as claiming:
        await claiming.execute(database.sql("update sexton.runs set state = 'running', claim = 1"))
        change = asyncio.create_task(edit(Context(database, now=NOW), "report", {"target": {"handler": "x"}}))
        await waiting(database)
    await change
    (run,) = await runs(database, job)
    assert (run["revision"], run["claim"]) == (1, 1)
    assert run["lane"] != (await timer(database, job))["lane"]


async def test_a_deadlock_with_a_firing_that_ends_a_job_is_survived(database: Database) -> None:
    """A firing locks the timer and then, at the end of a job, its row; a change begins with the row."""
    await make(database, schedule="2026-06-03T13:00:00Z")
    async with database.connection() as firing:
        transaction = firing.transaction()
        await transaction.start()
        await firing.execute(database.sql("delete from sexton.timers"))
        change = asyncio.create_task(pause(Context(database, now=NOW), "report"))
        await waiting(database)
        try:
            await firing.execute(database.sql("update sexton.jobs set status = 'completed'"))
            await transaction.commit()
            ended = True
        except asyncpg.DeadlockDetectedError:
            await transaction.rollback()
            ended = False
    if ended:
        with pytest.raises(Conflict, match="is completed"):
            await change
    else:
        assert (await change).status == "paused"


async def test_the_time_of_a_change_is_read_after_the_wait_for_the_lock(database: Database) -> None:
    await make(database)
    async with database.transaction() as other:
        await hold(Context(database, connection=other), "report")
        before = await other.fetchval("select clock_timestamp()")

        @command
        async def look(context: Context) -> bool:
            return bool((await hold(context, "report")).now > released)

        change = asyncio.create_task(look(Context(database)))
        await waiting(database)
        released = await other.fetchval("select clock_timestamp()")
        assert released > before
    assert await change


async def test_a_change_that_dies_half_way_leaves_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await make(database)
    before = await timer(database, job), await row(database, "select * from sexton.jobs")

    async def die(*_: object, **__: object) -> None:
        raise OSError("the process was killed")

    monkeypatch.setattr("sexton.jobs.edit._place", die)
    with pytest.raises(Exception, match="killed"):
        await edit(Context(database, now=NOW + 5 * MINUTE), "report", {"schedule": "every 1h"})
    assert (await timer(database, job), await row(database, "select * from sexton.jobs")) == before
    assert await runs(database, job) == []
    assert await value(database, "select count(*) from sexton.job_revisions") == 0
