"""What ended and was skipped is counted by minute, once, however late it is looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.activity import (
    LATE,
    MINUTE,
    Activity,
    count_recorded,
    milliseconds_of,
    percentile,
    read_activity,
    remove_old_activity,
)
from tests.seeding import Store

DAY = timedelta(days=1)
ENDED = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at, missed)
values ($1, $2, $3, $4, $5, $6, $7, $4, $8, $9)
"""


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def clock_of(store: Store) -> datetime:
    at: datetime = await store.value("select date_trunc('minute', clock_timestamp()) - interval '10 minutes'")
    return at


async def end(
    store: Store,
    job: int,
    at: datetime,
    *,
    late: float = 0.0,
    status: str = "success",
    trigger: str | None = "schedule",
    run: int | None = 1,
    attempt: int = 1,
    missed: bool = False,
) -> None:
    scheduled = at - timedelta(seconds=late)
    await store.execute(
        ENDED, at, run, job, scheduled, status, trigger, attempt if run else None, at if run else None, missed
    )


async def count_all(store: Store) -> None:
    context = Context(store.database)
    while not (await count_recorded(context, DAY))[1]:
        pass


async def figures(store: Store, since: datetime, namespace: str = "default") -> tuple[int, ...]:
    context = Context(store.database, namespace)
    shown = (await read_activity(context, since, since + DAY)).figures(since)
    return shown.fired, shown.succeeded, shown.on_time, shown.late, shown.failed, shown.skipped


async def test_what_is_counted_and_what_is_not_yet_are_one_figure(store: Store) -> None:
    at, job = await clock_of(store), await store.job()
    await end(store, job, at, late=0.02)
    await end(store, job, at + MINUTE, late=2.5)
    await end(store, job, at + MINUTE, status="dead", late=0.1)
    await end(store, job, at + MINUTE, status="skipped", run=None, trigger=None)
    expected = (3, 2, 2, 1, 1, 1)
    assert await figures(store, at) == expected
    await count_all(store)
    assert await store.value("select sum(runs) from sexton.activity") == 4
    assert await figures(store, at) == expected
    await count_all(store)
    assert await figures(store, at) == expected


async def test_a_row_is_counted_when_it_comes_after_the_mark(store: Store) -> None:
    at, job = await clock_of(store), await store.job()
    await count_all(store)
    await end(store, job, await store.value("select clock_timestamp()"))
    assert await figures(store, at) == (1, 1, 1, 0, 0, 0)


async def test_what_another_transaction_has_not_committed_yet_is_waited_for(
    store: Store, database: Database
) -> None:
    """It is recorded at a time that the mark would have passed."""
    at, job = await clock_of(store), await store.job()
    await count_all(store)
    other = await asyncpg.connect(database.url)
    try:
        async with other.transaction():
            recorded = await other.fetchval("select clock_timestamp()")
            await other.execute(
                database.sql(ENDED), recorded, 1, job, recorded, "success", "schedule", 1, recorded, False
            )
            later = recorded + timedelta(seconds=30)
            await count_recorded(Context(database, now=later), DAY)
            assert await store.value("select through from sexton.activity_mark") <= recorded
    finally:
        await other.close()
    await count_recorded(Context(database, now=later), DAY)
    assert await store.value("select sum(runs) from sexton.activity") == 1
    assert await figures(store, at) == (1, 1, 1, 0, 0, 0)


async def test_one_that_stays_open_does_not_stop_the_count(store: Store, database: Database) -> None:
    at = await clock_of(store)
    other = await asyncpg.connect(database.url)
    try:
        async with other.transaction():
            await other.execute(database.sql("delete from sexton.requests where key = 'none' returning 1"))
            await other.execute("select pg_current_xact_id()")
            soon = await other.fetchval("select now()") + timedelta(minutes=5)
            await count_recorded(Context(database, now=soon), DAY * 2)
            assert await store.value("select through from sexton.activity_mark") == soon - MINUTE
    finally:
        await other.close()
    assert at < soon


async def test_a_count_that_fails_counts_nothing(store: Store) -> None:
    """The rows and the mark are one transaction: a process that dies in between leaves neither."""
    at, job = await clock_of(store), await store.job()
    await end(store, job, at)
    await store.execute(
        "alter table sexton.activity_mark add constraint unmoved check (through < '2000-01-01') not valid"
    )
    try:
        with pytest.raises(asyncpg.CheckViolationError):
            await count_recorded(Context(store.database), DAY)
    finally:
        await store.execute("alter table sexton.activity_mark drop constraint unmoved")
    assert await store.value("select count(*) from sexton.activity") == 0
    await count_all(store)
    assert await figures(store, at) == (1, 1, 1, 0, 0, 0)


async def test_how_late_is_known_only_of_schedules(store: Store) -> None:
    at, job = await clock_of(store), await store.job()
    await end(store, job, at, late=5, trigger="manual")
    await end(store, job, at, late=5, missed=True)
    await end(store, job, at, status="cancelled", run=7, attempt=0, late=5)
    assert (await figures(store, at))[2:4] == (0, 0)


async def test_a_job_with_jitter_is_not_late_by_its_own_offset(store: Store) -> None:
    at, job = await clock_of(store), await store.job(jitter_seconds=60)
    await store.execute(
        """insert into sexton.history
            (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at)
        values ($1, 1, $2, $1::timestamptz - interval '40 s', 'success', 'schedule', 1, $1, $1)""",
        at,
        job,
    )
    assert await figures(store, at) == (1, 1, 1, 0, 0, 0)


async def test_namespaces_are_counted_apart(store: Store) -> None:
    await store.execute("insert into sexton.namespaces (name) values ('other')")
    at = await clock_of(store)
    await end(store, await store.job(), at)
    await end(store, await store.job(namespace="other"), at, status="dead")
    for _ in range(2):
        assert await figures(store, at) == (1, 1, 1, 0, 0, 0)
        assert await figures(store, at, "other") == (1, 0, 1, 0, 1, 0)
        await count_all(store)


async def test_what_is_old_goes(store: Store) -> None:
    at = await clock_of(store)
    await end(store, await store.job(), at)
    await count_all(store)
    await remove_old_activity(Context(store.database, now=at + timedelta(days=6)), 7)
    assert await store.value("select count(*) from sexton.activity") == 1
    await remove_old_activity(Context(store.database, now=at + timedelta(days=8)), 7)
    assert await store.value("select count(*) from sexton.activity") == 0


def test_percentiles_are_within_a_fifth() -> None:
    at = datetime(2026, 6, 1, tzinfo=UTC)
    rows = [
        (at, "success", LATE - 20, 98),
        (at, "success", LATE, 1),
        (at, "skipped", -1, 500),
        (at, "dead", LATE + 4, 1),
    ]
    assert percentile(rows, 0.5) == milliseconds_of(0) == pytest.approx(1.0, rel=0.2)
    assert percentile(rows, 0.99) == pytest.approx(1000, rel=0.2)
    assert percentile([(at, "skipped", -1, 5)], 0.5) is None
    minutes = Activity(rows).minutes(at, at + 2 * MINUTE)
    assert [(each.fired, each.failed, each.skipped) for each in minutes] == [(100, 1, 500), (0, 0, 0)]
    assert minutes[1].p50_ms is None
