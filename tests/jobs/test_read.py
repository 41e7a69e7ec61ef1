"""Looking at jobs: one, and pages of them."""

from __future__ import annotations

from typing import Any

import pytest

from sexton import clock
from sexton.errors import InvalidField, NotFound
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import get, list_jobs
from sexton.jobs.state import delete, pause
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import HOUR, NOW, make, number


async def names(database: Database, **filters: Any) -> list[str]:
    return [job.name for job in (await list_jobs(Context(database), JobFilter(**filters))).items]


@pytest.mark.parametrize("ref", ["nobody", "j_zzz", "", "j_"])
async def test_what_is_not_there_is_not_found(database: Database, ref: str) -> None:
    with pytest.raises(NotFound) as caught:
        await get(Context(database), ref)
    assert caught.value.code == "job_not_found"


async def test_pages_follow_each_other_without_gaps(database: Database) -> None:
    for place in range(5):
        await make(database, name=f"job-{place}")
    first = await list_jobs(Context(database), limit=2)
    second = await list_jobs(Context(database), limit=2, cursor=first.cursor)
    third = await list_jobs(Context(database), limit=2, cursor=second.cursor)
    pages = [[job.name for job in page.items] for page in (first, second, third)]
    assert pages == [["job-0", "job-1"], ["job-2", "job-3"], ["job-4"]]
    assert third.cursor is None


async def test_filters(database: Database) -> None:
    await make(database, name="a-one", labels={"team": "billing", "tier": "1"})
    await make(database, name="a-two", labels={"team": "search"}, target={"handler": "a-one"})
    await make(database, name="b", target={"http": {"url": "http://localhost/"}})
    await make(database, name="gone")
    await pause(Context(database, now=NOW), "a-two")
    await delete(Context(database, now=NOW), "gone")
    assert await names(database) == ["a-one", "a-two", "b"]
    assert await names(database, status="active") == ["a-one", "b"]
    assert await names(database, status="paused") == ["a-two"]
    assert await names(database, status="deleted") == ["gone"]
    assert await names(database, label="team") == ["a-one", "a-two"]
    assert await names(database, label="team=billing") == ["a-one"]
    assert await names(database, name="b") == ["b"]
    assert await names(database, name="a-*") == ["a-one", "a-two"]
    assert await names(database, name="a_*") == []
    assert await names(database, name="%*") == []
    assert await names(database, name="*") == ["a-one", "a-two", "b"]
    assert await names(database, label="team=") == []
    assert await names(database, label="team=billing", name="a-*", target="a-one", status="active") == [
        "a-one"
    ]
    assert await names(database, target="http") == ["b"]
    assert await names(database, target="handler") == ["a-one", "a-two"]
    assert await names(database, target="a-one") == ["a-one", "a-two"]
    assert (await list_jobs(Context(database, "other"))).items == []


async def test_jobs_in_the_order_in_which_they_fire_next(database: Database) -> None:
    """Those of one instant, and those that are paused, in the order in which they were made."""
    for name, schedule in (
        ("later", "every 3h"), ("paused-1", "every 1m"), ("soon-1", "every 1h"), ("soon-2", "every 1h"),
        ("paused-2", "every 1m"), ("first", "every 30m"), ("gone", "every 1m"), ("soon-3", "every 1h"),
    ):  # fmt: skip
        await make(database, name=name, schedule=schedule, labels={"odd": "yes"} if "2" not in name else {})
    for name in ("paused-1", "paused-2"):
        await pause(Context(database, now=NOW), name)
    await delete(Context(database, now=NOW), "gone")
    wanted = ["first", "soon-1", "soon-2", "soon-3", "later", "paused-1", "paused-2"]
    for size in (1, 2, 3, 7):
        found: list[str] = []
        cursor = None
        while True:
            page = await list_jobs(Context(database), sort="next_run_at", cursor=cursor, limit=size)
            found += [job.name for job in page.items]
            cursor = page.cursor
            if cursor is None:
                break
        assert found == wanted
    odd = await list_jobs(Context(database), JobFilter(label="odd"), sort="next_run_at")
    assert [job.name for job in odd.items] == ["first", "soon-1", "soon-3", "later", "paused-1"]


@pytest.mark.parametrize(
    ("status", "given", "field"),
    [
        ("running", {}, "status"),
        (None, {"limit": 0}, "limit"),
        (None, {"limit": 1001}, "limit"),
        (None, {"cursor": "x"}, "cursor"),
        (None, {"cursor": "j_1", "sort": "next_run_at"}, "cursor"),
        ("completed", {"sort": "next_run_at"}, "sort"),
    ],
)
async def test_filters_that_cannot_be_are_refused(
    database: Database, status: str | None, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        await list_jobs(Context(database), JobFilter(status), **given)
    assert caught.value.field == field


async def test_the_last_run_is_read_from_history_and_from_what_runs_now(database: Database) -> None:
    job = await make(database)
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, started_at)
                values ($2, 1, $1, $2, 'success', $2),
                       ($2 + interval '1 minute', null, $1, $2, 'skipped', null)"""
            ),
            number(job),
            NOW,
        )
    shown = await get(Context(database), job.job_id)
    assert (shown.last_run_at, shown.last_outcome) == (NOW, "skipped")
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                "insert into sexton.history (job_id, scheduled_at, status) values ($1, $2, 'skipped')"
            ),
            number(job),
            NOW,
        )
        await connection.execute(
            database.sql("update sexton.history set status = 'expired' where recorded_at > $1"),
            clock.now() - HOUR,
        )
    # The latest outcome is from today, the latest run from long ago.
    shown = await get(Context(database), job.job_id)
    assert (shown.last_run_at, shown.last_outcome) == (NOW, "expired")
