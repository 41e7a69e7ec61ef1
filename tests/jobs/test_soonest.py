"""The order in which jobs fire next, however many timers are looked at together, or are due at once."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from sexton.jobs import soonest as module
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import count_jobs, list_jobs
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import NOW, number

JOBS = 300
FILL = """
with job as (
    insert into sexton.jobs (name, kind, schedule, timezone, timing_key, target, labels)
    select 'job-' || n, 'cron', '* * * * *', 'UTC', gen_random_uuid(), '{"handler": "work"}',
        case when n % 3 = 0 then '{"third": "yes"}'::jsonb when n % 100 = 1 then '{"rare": "yes"}' end
    from generate_series(1, cardinality($1::text[])) as n
    returning id, timing_key
), numbered as (
    select id, timing_key, row_number() over (order by id) as n from job
)
insert into sexton.timers (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
select id, sexton.shard_of(id, 4), 1, timing_key, now(), ($1::text[])[n]::timestamptz, 1, 2 from numbered
"""
ALL = """
select job_id from sexton.timers join sexton.jobs on id = job_id
where labels ? $1 or $1 is null order by due_at, job_id
"""


async def fill(database: Database, times: list[datetime | str]) -> None:
    async with database.connection() as connection:
        await connection.execute(database.sql(FILL), [str(at) for at in times])


def mixed(seed: int) -> list[datetime | str]:
    """Times of their own, a small and a large herd, and paused jobs."""
    random_ = random.Random(seed)
    choices: list[datetime | str] = [NOW, NOW + timedelta(seconds=5), NOW + timedelta(seconds=5), "infinity"]
    return [
        NOW + timedelta(seconds=random_.randrange(100)) if random_.random() < 0.5 else random_.choice(choices)
        for _ in range(JOBS)
    ]


@pytest.mark.parametrize("label", [None, "third", "rare"])
@pytest.mark.parametrize(("rows", "walk", "most_seen"), [(40, 10, 10_000), (80, 1000, 10_000), (40, 10, 8)])
async def test_pages_follow_each_other_in_order(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    label: str | None,
    rows: int,
    walk: int,
    most_seen: int,
) -> None:
    await fill(database, mixed(rows))
    for name, value in (("ROWS", rows), ("WALK", walk), ("MOST_SEEN", most_seen), ("MOST_SORTED", -1)):
        monkeypatch.setattr(module, name, value)
    async with database.connection() as connection:
        wanted = [row["job_id"] for row in await connection.fetch(database.sql(ALL), label)]
    found: list[int] = []
    cursor = None
    while True:
        page = await list_jobs(
            Context(database), JobFilter(label=label), sort="next_run_at", cursor=cursor, limit=7
        )
        found += map(number, page.items)
        cursor = page.cursor
        if cursor is None:
            break
    assert len(found) > 1
    assert found == wanted


async def test_what_is_rare_is_sought_by_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(database, mixed(1))
    statements: list[str] = []
    real = Database.fetch

    async def noted(self: Database, statement: str, **given: Any) -> Any:
        statements.append(statement)
        return await real(self, statement, **given)

    monkeypatch.setattr(Database, "fetch", noted)
    monkeypatch.setattr(module, "ROWS", 40)
    monkeypatch.setattr(module, "MOST_SEEN", 80)
    for label, most_sorted, looked, sought in (
        ("third", -1, True, False),
        ("rare", -1, True, True),
        ("rare", JOBS, False, True),
    ):
        statements.clear()
        monkeypatch.setattr(module, "MOST_SORTED", most_sorted)
        chosen = JobFilter(label=label)
        page = await list_jobs(Context(database), chosen, sort="next_run_at", limit=1)
        # Where all of them were looked for they are counted, too, also those of other pages.
        every = await count_jobs(Context(database), chosen)
        assert page.total == (every if sought else None)
        assert every.count > 1
        if not looked:
            after = await list_jobs(
                Context(database), chosen, sort="next_run_at", cursor=page.cursor, limit=1
            )
            assert after.total == every
        assert ("jobs/list_soonest" in statements) == looked
        assert ("jobs/list_by_next_run" in statements) == sought
