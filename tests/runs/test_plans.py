"""Asking about one job does not read the history of the others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sexton.postgres.database import Database
from tests.runs.rows import NOON

pytestmark = pytest.mark.asyncio

FILL = """
insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
select timestamptz '2026-02-01' + n * interval '1 minute', n, n % 200, timestamptz '2026-02-01', 'success',
    'schedule'
from generate_series(1, 40000) n
"""


async def explain(database: Database, name: str, *arguments: Any) -> dict[str, Any]:
    async with database.connection() as connection:
        await connection.execute(database.sql(FILL))
        await connection.execute(database.sql("analyze sexton.history"))
        # As after many calls, when PostgreSQL plans without looking at the arguments.
        await connection.execute("set plan_cache_mode = force_generic_plan")
        text = await connection.fetchval(
            f"explain (analyze, format json) {database.statement(name)}", *arguments
        )
    plan: dict[str, Any] = json.loads(text)[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(each for part in plan.get("Plans", []) for each in nodes(part))]


def rows_read(plan: dict[str, Any]) -> float:
    scans = [each for each in nodes(plan) if "history" in each.get("Relation Name", "")]
    return sum(
        float(each["Actual Rows"] + each.get("Rows Removed by Filter", 0)) * float(each["Actual Loops"])
        for each in scans
    )


async def test_a_page_of_ended_runs_reads_about_a_page(database: Database) -> None:
    plan = await explain(database, "list_ended_runs_of_job", 7, None, None, None, ["success"], None, 10)
    assert rows_read(plan) <= 30


async def test_a_later_page_begins_where_the_one_before_ended(database: Database) -> None:
    place = (NOON.replace(month=2, day=10), 5, NOON)
    plan = await explain(database, "list_ended_runs_of_job", 7, *place, ["success"], None, 10)
    assert rows_read(plan) <= 30


async def test_occurrences_read_one_job(database: Database) -> None:
    start, end = NOON.replace(month=2, day=1), NOON.replace(month=2, day=2)
    plan = await explain(database, "list_recorded_occurrences", 7, start, end, 100)
    assert rows_read(plan) <= 250
