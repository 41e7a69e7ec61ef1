"""Asking about one job does not read the history of the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.postgres.database import Database
from tests import plans
from tests.runs.rows import NOON
from tests.seeding import Store

pytestmark = pytest.mark.asyncio

FILL = """
insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
select timestamptz '2026-02-01' + n * interval '1 minute', n, n % 200, timestamptz '2026-02-01', 'success',
    'schedule'
from generate_series(1, 40000) n
"""

LIST = "reading/list_ended_runs_of_job"
PLACE = {"last": datetime.max.replace(tzinfo=UTC), "run_id": None, "scheduled_at": None}
FILTERS: dict[str, Any] = {
    "namespace": "default", "job_id": 7, "statuses": ["success"], "triggers": None, "limit": 10,
    "first": datetime(1970, 1, 1, tzinfo=UTC), "default_queue": "default",
    **dict.fromkeys(("error", "late", "queue", "worker")),
}  # fmt: skip


async def explain(database: Database, name: str, **parameters: Any) -> list[plans.Node]:
    async with database.connection() as connection:
        await connection.execute(database.sql(FILL))
        await connection.execute(database.sql("analyze sexton.history"))
        # As after many calls, when PostgreSQL plans without looking at the arguments.
        await connection.execute("set plan_cache_mode = force_generic_plan")
        text, arguments = database.prepared(name, **parameters)
        return await plans.explain(connection, text, arguments)


def rows_read(plan: list[plans.Node]) -> float:
    scans = [each for each in plan if "history" in each.get("Relation Name", "")]
    return sum(
        float(each["Actual Rows"] + each.get("Rows Removed by Filter", 0)) * float(each["Actual Loops"])
        for each in scans
    )


async def test_a_page_of_ended_runs_reads_about_a_page(database: Database) -> None:
    plan = await explain(database, LIST, **PLACE, **FILTERS)
    assert rows_read(plan) <= 30


async def test_a_later_page_begins_where_the_one_before_ended(database: Database) -> None:
    place = {"last": NOON.replace(month=2, day=10), "run_id": 5, "scheduled_at": NOON}
    plan = await explain(database, LIST, **place, **FILTERS)
    assert rows_read(plan) <= 100  # those of the same instant are read, too


async def test_occurrences_read_one_job(database: Database) -> None:
    reach = {"start": NOON.replace(month=2, day=1), "end": NOON.replace(month=2, day=2)}
    plan = await explain(database, "reading/list_recorded_occurrences", job_id=7, limit=100, **reach)
    assert rows_read(plan) <= 250


MANY_JOBS = """
insert into sexton.jobs (id, name, kind, schedule, timezone, timing_key, target)
select n, 'job ' || n, 'cron', '0 0 1 1 *', 'UTC', gen_random_uuid(), '{}' from generate_series(1, 20000) as n
"""
MUCH_HISTORY = """
insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger, fired_at)
select now() - n * interval '1 s', n, 1 + n % 20000, now(), 'success', 'schedule', now()
from generate_series(1, 60000) as n
"""
COUNTED = "insert into sexton.activity_mark (through) values (now() - interval '10 s')"


async def test_what_passed_through_queues_is_not_joined_with_all_jobs(database: Database) -> None:
    """All but the last seconds is counted; how much that leaves PostgreSQL does not know when it plans."""
    store = Store(database)
    for statement in (MANY_JOBS, MUCH_HISTORY, COUNTED, "analyze sexton.history", "analyze sexton.jobs"):
        await store.execute(statement)
    now: datetime = await store.value("select now()")
    text, arguments = database.prepared(
        "activity/read_queues",
        namespace="default",
        queue=None,
        default_queue="default",
        since=now - timedelta(hours=1),
        until=now + timedelta(minutes=1),
        most=100,
    )
    async with database.connection() as connection:
        plan = await plans.explain(connection, text, arguments)
    assert sum(plans.rows_read(plan, "jobs").values()) <= 100
