"""One node of the cluster counts what history holds."""

from __future__ import annotations

from datetime import timedelta

from sexton.engine.upkeep.activity_counter import COUNT_SECONDS, ActivityCounter
from sexton.postgres.database import Database
from tests.seeding import Store


async def test_it_catches_up_with_the_last_day_and_then_rests(database: Database) -> None:
    store = Store(database)
    job = await store.job()
    await store.execute(
        """insert into sexton.history
            (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at)
        select at, 1, $1, at, 'success', 'schedule', 1, at, at
        from generate_series(now() - interval '700 minutes', now(), interval '7 minutes 1 second') as at""",
        job,
    )
    counter = ActivityCounter(database, leading=lambda: True)
    rests = [await counter.tick()]
    while rests[-1] < COUNT_SECONDS and len(rests) < 100:
        rests.append(await counter.tick())
    assert rests[-1] >= COUNT_SECONDS
    assert len(rests) > 1
    assert await store.value("select sum(runs) from sexton.activity") == 100
    behind = await store.value("select now() - through from sexton.activity_mark")
    assert behind < timedelta(minutes=1)


async def test_only_the_leader_of_the_first_shard_counts(database: Database) -> None:
    assert await ActivityCounter(database, leading=lambda: False).tick() == COUNT_SECONDS
    assert await Store(database).value("select count(*) from sexton.activity_mark") == 0
