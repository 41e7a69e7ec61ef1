"""Runs are filtered and counted alike, whatever the filter."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded
from sexton.runs.count import count_runs
from sexton.runs.filter import RunFilter
from sexton.runs.read import list_runs
from sexton.runs.strip import with_strips
from tests.plans import nodes
from tests.seeding import Store

ROW = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at, finished_at,
     error, node)
values ($1, $2, $3, $4, $5, $6, 1, $1, $1, $1, $7, $8)
"""


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def fill(store: Store) -> tuple[datetime, int]:
    """Two hours of one job: successes, a late one, a manual one, two deaths; and live ones."""
    now: datetime = await store.value("select date_trunc('second', clock_timestamp())")
    job, node = await store.job(queue="mail"), await store.node()
    for n, status, trigger, late, error in (
        (1, "success", "schedule", 0.1, None),
        (2, "success", "schedule", 4.0, None),
        (3, "success", "manual", 4.0, None),
        (4, "dead", "schedule", 0.0, "ConnectionError: mail is away"),
        (5, "dead", "schedule", 0.0, "ValueError"),
    ):
        at = now - timedelta(minutes=20 * n)
        scheduled = at - timedelta(seconds=late)
        await store.execute(ROW, at, n, job, scheduled, status, trigger, error, node if n == 1 else None)
    await store.run(
        job, lane=await store.lane(queue="mail"), available_at=now, state="failed", error="Mail is full"
    )
    await store.run(job, lane=await store.lane(queue="mail"), available_at=now)
    return now, job


@pytest.mark.parametrize(
    ("chosen", "counts"),
    [
        ({}, {"pending": 1, "failed": 1, "success": 3, "dead": 2}),
        ({"late": True}, {"success": 1}),
        ({"triggers": ["manual"]}, {"success": 1}),
        ({"error": "mail"}, {"failed": 1, "dead": 1}),
        ({"queue": "mail"}, {"pending": 1, "failed": 1, "success": 3, "dead": 2}),
        ({"queue": "other"}, {}),
        ({"worker": "test:1:abc"}, {"success": 1}),
        ({"statuses": ["dead"]}, {"pending": 1, "failed": 1, "success": 3, "dead": 2}),
    ],
)
async def test_lists_and_counts_agree(store: Store, chosen: dict[str, Any], counts: dict[str, int]) -> None:
    _, job = await fill(store)
    for number in (None, job):
        filter_ = RunFilter(job=number, **chosen)
        context = Context(store.database)
        counted = await count_runs(context, filter_)
        assert {name: value for name in counts if (value := getattr(counted, name))} == counts
        listed = (await list_runs(context, filter_)).items
        assert len(listed) == counted.total(filter_).count
        wanted = chosen.get("statuses") or ["pending", "failed", "success", "dead"]
        assert {run.status for run in listed} == set(counts) & set(wanted)
        assert not counted.estimated


async def test_since_and_until_bound_what_has_ended(store: Store) -> None:
    now, _ = await fill(store)
    context = Context(store.database)
    hour = RunFilter(since=now - timedelta(hours=1, seconds=5))
    for _ in range(2):  # before and after it is counted
        assert (await count_runs(context, hour)).success == 3
        assert len((await list_runs(context, hour)).items) == 5
        while not (await count_recorded(context, timedelta(days=2)))[1]:
            pass
    before = RunFilter(since=now - timedelta(days=1), until=now - timedelta(hours=1, seconds=5))
    assert [run.status for run in (await list_runs(context, before)).items] == ["dead", "dead"]
    assert (await count_runs(context, before)).total(before).count == 2


async def test_nothing_of_another_namespace_is_listed_or_counted(store: Store) -> None:
    await store.execute("insert into sexton.namespaces (name) values ('other')")
    _, job = await fill(store)
    other = Context(store.database, "other")
    for chosen in (RunFilter(), RunFilter(job=job), RunFilter(late=True), RunFilter(statuses=["dead"])):
        assert (await list_runs(other, chosen)).items == []
        assert (await count_runs(other, chosen)).total(chosen).count == 0


async def test_what_is_unusual_is_found_by_its_index(store: Store) -> None:
    job = await store.job()
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
        select now() - n * interval '1 second', n, $1, now(),
            case when n % 5000 = 0 then 'dead' else 'success' end, 'schedule'
        from generate_series(1, 20000) as n""",
        job,
    )
    await store.execute("analyze sexton.history")
    now = await store.value("select now()")
    filters = RunFilter(statuses=["dead"])
    text, arguments = store.database.prepared(
        "reading/list_unusual_runs",
        namespace="default",
        **filters.parameters(),
        statuses=["dead"],
        default_queue="default",
        first=now - timedelta(days=1),
        last=now,
        run_id=None,
        scheduled_at=None,
        limit=51,
    )
    async with store.database.connection() as connection:
        plan = await connection.fetchval(f"explain (format json) {text}", *arguments)
    used = {node.get("Index Name", "") for node in nodes(msgspec.json.decode(plan)[0]["Plan"])}
    assert any("recorded_at_idx" in name for name in used), used
    assert len((await list_runs(Context(store.database), filters)).items) == 4


async def test_a_page_of_jobs_shows_their_latest_runs(store: Store) -> None:
    from sexton.jobs.read import list_jobs

    now, _ = await fill(store)
    bare = await store.job()
    page = await list_jobs(Context(store.database))
    shown, none = await with_strips(Context(store.database), page.items)
    assert isinstance(shown.strip, list)
    assert [each.status for each in shown.strip] == ["dead", "dead", "success", "success", "success"]
    assert (shown.strip[-1].run_id, shown.strip[-1].late_seconds, shown.strip[-1].seconds) == (
        "r_1",
        0.1,
        0.0,
    )
    assert (shown.words, none.strip, bare > 0) == ("Every minute, UTC", [], True)
    assert now > shown.strip[0].at
