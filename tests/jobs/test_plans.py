"""Listing jobs by a filter reads about as many as it shows, however many there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.jobs.filter import JobFilter
from sexton.jobs.read import list_jobs
from sexton.postgres.database import BY_KEY, Database
from sexton.postgres.transaction import Context
from tests.postgres.test_statements import read

MANY = 20_000
FEW = 5

# Of each kind to look for there are few, all of them made last.
FILL = """
insert into sexton.jobs (name, kind, schedule, timezone, timing_key, target, labels, status)
select case when rare then 'rare_' else 'job-' end || n, 'cron', '* * * * *', 'UTC', gen_random_uuid(),
    case when rare then '{"handler": "rare"}'::jsonb
        when n % 2 = 0 then '{"handler": "work"}' else '{"http": {}}' end,
    case when rare then '{"rare": "yes", "team": "sales"}'::jsonb
        when n % 2 = 0 then '{"team": "billing"}' end,
    case when rare then 'paused' else 'active' end
from generate_series(1, $1::int) as n, lateral (select n > $1 - $2::int as rare) as each
"""

DUE = datetime(2030, 1, 1, tzinfo=UTC)
START: dict[str, Any] = {"due_at": datetime(1970, 1, 1, tzinfo=UTC), "after": 0}
TIMERS = """
insert into sexton.timers (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
select id, sexton.shard_of(id, 4), 1, timing_key, at, at, 1, 2
from (select job.*, row_number() over (order by id) as place from sexton.jobs as job) as numbered,
     lateral (select $1::timestamptz + place * $2::int * interval '1 second' as at) as due
"""

FILTERS = (
    "status",
    "label",
    "labels",
    "name",
    "pattern",
    "kind",
    "handler",
    "full_name",
    "app",
    "search",
    "ids",
)

EVERY: dict[str, Any] = {"namespace": "default", "after": 0, "problem": False, **dict.fromkeys(FILTERS)}


async def ways(
    database: Database, limit: int = 101, statement: str = "jobs/list", table: str = "jobs", **filters: Any
) -> dict[str, int]:
    """By which way so many rows were read, planned as `list_jobs` has it planned."""
    settings = {"plan_cache_mode": "force_custom_plan"}
    given = {**EVERY, **filters}
    return await read(database, statement, settings, table=table, limit=limit, **given)


@pytest.fixture(scope="module")
def filled_url(module_database_url: str) -> str:
    async def fill() -> None:
        connection = await asyncpg.connect(module_database_url)
        await connection.execute(FILL, MANY, FEW)
        await connection.execute("analyze sexton.jobs")
        await connection.close()

    asyncio.run(fill())
    return module_database_url


@pytest_asyncio.fixture
async def database(filled_url: str) -> AsyncIterator[Database]:
    """One with many jobs."""
    database = await Database.open(filled_url, size=1)
    yield database
    await database.close()


@pytest.mark.parametrize(
    "filters",
    [
        {"status": "paused"},
        {"label": "rare"},
        {"labels": '{"rare": "yes"}'},
        {"labels": '{"team": "sales"}'},
        {"name": f"rare_{MANY}"},
        {"pattern": "rare\\_%"},
        {"handler": "rare"},
        {"handler": "rare", "full_name": "shop:rare"},
        {"app": "nobody"},
        {"problem": True},
        {"status": "deleted"},
        {"status": "completed", "label": "team"},
    ],
    ids=str,
)
async def test_what_is_rare_is_found_by_an_index(database: Database, filters: dict[str, Any]) -> None:
    assert sum((await ways(database, **filters)).values()) <= FEW + 2, filters


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"status": "active"},
        {"labels": '{"team": "billing"}'},
        {"label": "team"},
        {"pattern": "job-%"},
        {"kind": "http"},
        {"kind": "handler"},
        {"handler": "work"},
    ],
    ids=str,
)
async def test_a_page_of_what_is_common_reads_little_more_than_the_page(
    database: Database, filters: dict[str, Any]
) -> None:
    found = await ways(database, limit=21, **filters)
    assert sum(found.values()) <= 100, found


async def test_the_many_are_not_counted_by_their_names(database: Database) -> None:
    """What the statement is given agrees with what people ask for."""
    page = await list_jobs(Context(database), JobFilter(name="rare_*"), limit=FEW)
    assert [job.name for job in page.items] == [f"rare_{MANY - FEW + n}" for n in range(1, FEW + 1)]
    assert page.cursor is None


@pytest.mark.parametrize(
    "filters",
    [{"label": "rare"}, {"pattern": "rare\\_%"}, {"handler": "rare"}, {"status": "paused"}],
    ids=str,
)
async def test_what_is_rare_is_found_by_an_index_to_be_acted_on(
    database: Database, filters: dict[str, Any]
) -> None:
    locked = await ways(database, 1000, "jobs/lock_chosen", through=None, **filters)
    assert sum(locked.values()) <= FEW + 2, locked
    for given in ({"through": None}, {"through": MANY * 2}):
        found = await read(
            database,
            "jobs/count_chosen",
            {"plan_cache_mode": "force_custom_plan"},
            table="jobs",
            **{**EVERY, **given, **filters},
        )
        assert sum(found.values()) <= FEW + 2, found


async def test_a_chunk_of_many_jobs_reads_little_more_than_the_chunk(database: Database) -> None:
    for place in (0, MANY // 2):
        found = await ways(database, 20, "jobs/lock_chosen", kind="http", after=place, through=None)
        assert sum(found.values()) <= 100, found


@pytest.mark.parametrize("herd", [True, False], ids=["at one instant", "one after another"])
@pytest.mark.parametrize("filters", [{}, {"status": "active"}, {"label": "team"}, {"kind": "http"}], ids=str)
async def test_a_page_of_what_fires_next_reads_little_more_than_the_page(
    database: Database, filters: dict[str, Any], herd: bool
) -> None:
    await fill_timers(database, herd=herd)
    first = await value(database, "select min(job_id) from sexton.timers")
    middle = {"due_at": DUE if herd else DUE + timedelta(seconds=MANY // 2), "after": first + MANY // 2}
    for place in (START, middle):
        given = {"limit": 21, "rows": 400, "walk": 100, **EVERY, **place, **filters}
        timers, jobs = [
            await read(database, "jobs/list_soonest", BY_KEY, table=table, **given)
            for table in ("timers", "jobs")
        ]
        assert timers.keys() <= {"timers_due", "timers_pkey"}
        assert timers["timers_due"] <= 400
        assert timers.get("timers_pkey", 0) == (100 if herd else 0)
        assert sum(jobs.values()) <= 100, jobs


@pytest.mark.parametrize(
    "filters", [{"label": "rare"}, {"pattern": "rare\\_%"}, {"handler": "rare"}], ids=str
)
async def test_what_is_rare_is_found_before_it_is_sorted(database: Database, filters: dict[str, Any]) -> None:
    await fill_timers(database, herd=False)
    for table in ("jobs", "timers"):
        found = await ways_by_next_run(database, table, **START, **filters)
        assert sum(found.values()) <= FEW + 2, found


async def ways_by_next_run(database: Database, table: str, **given: Any) -> dict[str, int]:
    return await ways(database, statement="jobs/list_by_next_run", table=table, **given)


async def value(database: Database, statement: str) -> Any:
    async with database.connection() as connection:
        return await connection.fetchval(database.sql(statement))


async def fill_timers(database: Database, *, herd: bool) -> None:
    """A timer for each job, all due at one instant or a second after the one before."""
    async with database.connection() as connection:
        await connection.execute("truncate sexton.timers")
        await connection.execute(TIMERS, DUE, 0 if herd else 1)
        await connection.execute("analyze sexton.timers")
