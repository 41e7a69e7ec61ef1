"""Dead letters, one by one and by cause."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.errors import NotFound
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.dead_letters import get_dead, list_dead, list_groups
from tests.runs.rows import (
    MINUTE,
    NOON,
    insert,
    make_job,
)

pytestmark = pytest.mark.asyncio


async def bury(database: Database, job: int, run: int, **more: Any) -> None:
    async with database.connection() as connection:
        lane = await connection.fetchval(
            database.sql("select lane from sexton.timers where job_id = $1"), job
        )
    values = {
        "run_id": run, "job_id": job, "died_at": NOON + run * MINUTE, "reason": "exhausted", "error": "boom",
        "error_group": "boom", "lane": lane, "priority": 2, "scheduled_at": NOON, "due_at": NOON,
        "revision": 1, "trigger": "schedule", "missed": False, "attempt": 4,
    }  # fmt: skip
    await insert(database, "dead", **{**values, **more})


async def test_the_latest_first_in_pages(database: Database) -> None:
    job = await make_job(database)
    for run in range(1, 6):
        await bury(database, job, run)
    first = await list_dead(Context(database), limit=3)
    second = await list_dead(Context(database), limit=3, cursor=first.cursor)
    assert [each.run_id for each in first.items + second.items] == ["r_5", "r_4", "r_3", "r_2", "r_1"]
    assert second.cursor is None


async def test_the_oldest_first_in_pages(database: Database) -> None:
    job = await make_job(database)
    for run in range(1, 5):
        # Two of them died in the same instant.
        await bury(database, job, run, died_at=NOON + min(run, 3) * MINUTE)
    first = await list_dead(Context(database), sort="died_at", limit=3)
    second = await list_dead(Context(database), sort="died_at", limit=3, cursor=first.cursor)
    assert [each.run_id for each in first.items + second.items] == ["r_1", "r_2", "r_3", "r_4"]
    assert second.cursor is None


async def test_filters(database: Database) -> None:
    job, other = await make_job(database), await make_job(database, name="other")
    await bury(database, job, 1)
    await bury(database, other, 2, reason="poison", error_group="crash")
    for filters in ({"job": other}, {"group": "crash"}, {"reason": "poison"}):
        assert [each.run_id for each in (await list_dead(Context(database), **filters)).items] == ["r_2"]


async def test_one_letter_has_payload_and_attempts(database: Database) -> None:
    job = await make_job(database, payload={"n": 1})
    await bury(database, job, 1)
    await insert(database, "attempts", run_id=1, attempt=1, outcome="failed", error="boom")
    letter = await get_dead(Context(database), 1)
    assert (letter.payload, letter.handler, letter.job_name) == ({"n": 1}, "hourly", "hourly")
    assert [each.error for each in letter.attempts] == ["boom"]
    with pytest.raises(NotFound) as missing:
        await get_dead(Context(database), 2)
    assert missing.value.code == "dead_not_found"


async def test_groups_by_cause(database: Database) -> None:
    job, other = await make_job(database), await make_job(database, name="other")
    await bury(database, job, 1)
    await bury(database, job, 2, error="boom at last")
    await bury(database, other, 3)
    await bury(database, other, 4, error_group="crash")
    groups = await list_groups(Context(database))
    assert [(each.error_group, each.letters, each.jobs, each.latest_run_id) for each in groups] == [
        ("boom", 3, 2, "r_3"),
        ("crash", 1, 1, "r_4"),
    ]
    later = await list_groups(Context(database, now=NOON + 62 * MINUTE))
    assert [each.hours[-2:] for each in later] == [[2, 1], [0, 1]]
    assert {(len(each.hours), sum(each.hours)) for each in groups} == {(24, 0)}
    assert [each.letters for each in await list_groups(Context(database), job=job)] == [2]
