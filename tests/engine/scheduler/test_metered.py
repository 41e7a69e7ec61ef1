"""Firing under the quotas of namespaces: within them, accounted for, and no other namespace is late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.engine.scheduler.horizon import METERED, PLAIN
from sexton.jobs.create import create
from sexton.jobs.validation import read_spec
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.why import why
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import change_namespace, create_namespace
from sexton.security.quota_spec import QuotaChanges
from tests.scheduling import Stage, execute, fetch, move_timer, now, runs_of, skips_of
from tests.waiting import until


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    for name in ("a", "b"):
        await create_namespace(Context(database), NamespaceSpec(name=name))
    yield await Stage(database).lead()
    await Stage.close_all()


async def allow(database: Database, **quotas: Any) -> None:
    await change_namespace(Context(database), "a", QuotaChanges(**quotas))


async def add(database: Database, count: int = 1, namespace: str = "a", **fields: Any) -> list[int]:
    made = []
    for number in range(count):
        spec = {"name": f"job {number}", "schedule": "0 * * * *", "target": {"handler": "sexton.noop"}}
        view = await create(Context(database, namespace), read_spec({**spec, **fields}))
        made.append(decode_id("j", view.job_id) or 0)
    return made


async def due_now(database: Database, jobs: list[int]) -> datetime:
    """Let occurrences be due a second ago: late, but within their grace."""
    at = (await now(database)).replace(microsecond=0) - timedelta(seconds=1)
    for job in jobs:
        await move_timer(database, job, at)
    return at


def reread(stage: Stage) -> None:
    """Timers were changed; a moment ago does not count."""
    stage.scheduler.timers_changed("")
    stage.scheduler._horizon._reload_at = 0.0


async def settle(stage: Stage) -> None:
    """Rounds until nothing is due any more, however many counts that takes."""
    due = "select from sexton.timers where due_at <= clock_timestamp()"
    while await stage.round() == 0 or await fetch(stage.database, due):
        await stage.scheduler.live_count.wait()


async def available(database: Database, namespace: str = "a") -> list[datetime]:
    rows = await fetch(
        database,
        """select run.available_at from sexton.runs as run
        join sexton.lanes as lane on lane.id = run.lane and lane.namespace = $1
        order by run.available_at, run.job_id""",
        namespace,
    )
    return [row["available_at"] for row in rows]


async def taken(database: Database) -> int:
    [row] = await fetch(database, "select taken from sexton.meters where kind = 'runs'")
    return int(row["taken"])


async def end_all(database: Database) -> None:
    """All runs end, and a second goes by."""
    await execute(database, "delete from sexton.runs")
    await execute(database, "update sexton.meters set counted_at = counted_at - interval '2 s'")


async def test_runs_beyond_the_rate_start_later(database: Database, stage: Stage) -> None:
    await allow(database, firings_per_second=10)
    ours, theirs = await add(database, 25), await add(database, 25, "b")
    at = await due_now(database, ours + theirs)
    began = await now(database)
    await settle(stage)
    assert set(await available(database, "b")) == {at}
    times = await available(database)
    assert times[:10] == [at] * 10
    # From now on one every tenth of a second.
    assert 0 <= (times[10] - began).total_seconds() < 10
    assert [(later - times[10]).total_seconds() for later in times[10:]] == pytest.approx(
        [place / 10 for place in range(15)]
    )
    # The occurrences themselves fired on time.
    rows = await fetch(database, "select distinct due_at from sexton.runs")
    assert [row["due_at"] for row in rows] == [at]
    late = max(times)
    [job] = [
        row["job_id"]
        for row in await fetch(database, "select * from sexton.runs where available_at = $1", late)
    ]
    [line] = await why(Context(database, "a"), job, past=1, ahead=0)
    assert "the quota of its namespace is 10 per second: its turn comes at" in line.text


async def test_the_next_batch_goes_on_where_this_one_stopped(database: Database, stage: Stage) -> None:
    await allow(database, firings_per_second=2)
    jobs = await add(database, 12)
    await due_now(database, jobs[:6])
    await settle(stage)
    first = await available(database)
    await due_now(database, jobs[6:])
    reread(stage)
    await settle(stage)
    second = await available(database)
    assert second[:6] == first
    assert [(later - first[-1]).total_seconds() for later in second[6:]] == pytest.approx(
        [place / 2 for place in range(1, 7)]
    )


async def test_occurrences_beyond_the_live_runs_are_skipped(database: Database, stage: Stage) -> None:
    await allow(database, live_runs=3)
    ours, theirs = await add(database, 5), await add(database, 5, "b")
    at = await due_now(database, ours + theirs)
    await settle(stage)
    assert len(await available(database, "b")) == 5
    assert len(await available(database)) == 3
    skipped = [skip for job in ours for skip in await skips_of(database, job)]
    assert skipped == [(at, "quota", 1)] * 2
    assert stage.scheduler.over_quota == 2
    # Every timer has moved on.
    rows = await fetch(database, "select min(scheduled_at) as first from sexton.timers")
    assert rows[0]["first"] > at


async def test_runs_that_ended_make_room(database: Database, stage: Stage) -> None:
    await allow(database, live_runs=3)
    jobs = await add(database, 3)
    for _ in range(4):
        await due_now(database, jobs)
        reread(stage)
        await settle(stage)
        assert len(await available(database)) == 3
        await end_all(database)
    assert [await skips_of(database, job) for job in jobs] == [[], [], []]


async def test_a_count_that_is_fresh_is_believed(database: Database, stage: Stage) -> None:
    """Counting looks at all runs: not more often than once a second."""
    await allow(database, live_runs=1)
    jobs = await add(database, 2)
    await due_now(database, jobs[:1])
    await settle(stage)
    await execute(database, "delete from sexton.runs")
    await due_now(database, jobs[1:])
    reread(stage)
    await stage.round()
    assert not stage.scheduler.live_count.running
    assert [reason for _, reason, _ in await skips_of(database, jobs[1])] == ["quota"]


async def test_live_runs_from_before_the_quota_count(database: Database, stage: Stage) -> None:
    jobs = await add(database, 4)
    await due_now(database, jobs[:2])
    await stage.round()
    await allow(database, live_runs=3)
    await due_now(database, jobs[2:])
    reread(stage)
    await settle(stage)
    assert len(await available(database)) == 3


async def test_a_quota_is_noticed_without_a_notification(database: Database, stage: Stage) -> None:
    [job] = await add(database)
    await move_timer(database, job, await now(database) + timedelta(minutes=5))
    await stage.round()
    horizon = stage.scheduler._horizon
    assert {timing.special for timing in horizon.timings} == {PLAIN}
    await allow(database, live_runs=3)
    horizon._overdue_at = horizon._reload_at = 0.0  # ten seconds later
    await stage.round()
    horizon._reload_at = 0.0
    await stage.round()
    assert horizon.timings[-1].special == METERED


async def test_a_meter_that_is_locked_keeps_no_other_namespace_waiting(
    database: Database, stage: Stage
) -> None:
    await allow(database, firings_per_second=10)
    ours, theirs = await add(database, 2), await add(database, 2, "b", overlap="SKIP")
    await due_now(database, ours + theirs)
    locking = await asyncpg.connect(database.url)
    try:
        async with locking.transaction():
            await locking.execute("select from sexton.meters for update")
            await stage.round()
            assert len(await available(database, "b")) == 2
            assert await available(database) == []
    finally:
        await locking.close()

    async def fired() -> bool:
        await stage.round()
        return len(await available(database)) == 2

    await until(fired)
    assert await taken(database) == 2


async def test_missed_occurrences_are_caught_up_within_the_quota(database: Database, stage: Stage) -> None:
    await allow(database, live_runs=4)
    [job] = await add(database, missed_window="RUN_ALL", grace_seconds=0)
    [other] = await add(database, 1, "b", missed_window="RUN_ALL", grace_seconds=0)
    begin = (await now(database)).replace(minute=0, second=0, microsecond=0) - timedelta(hours=9)
    for each in (job, other):
        await move_timer(database, each, begin)
    await settle(stage)
    ours, theirs = await runs_of(database, job), await runs_of(database, other)
    assert len(theirs) == 10
    assert [run["scheduled_at"] for run in ours] == [begin + timedelta(hours=hour) for hour in range(4)]
    assert [(at, reason) for at, reason, _ in await skips_of(database, job)] == [
        (begin + timedelta(hours=hour), "quota") for hour in range(4, 10)
    ]
    assert await taken(database) == 4


async def test_overlap_and_last_occurrences_are_kept_under_quotas(database: Database, stage: Stage) -> None:
    await allow(database, live_runs=100, firings_per_second=1)
    [queueing] = await add(database, 1, name="queueing", overlap="QUEUE_ONE")
    [last] = await add(database, 1, name="last", max_runs=1)
    [skipping] = await add(database, 1, name="skipping", overlap="SKIP")
    for _ in range(2):
        await due_now(database, [queueing, last, skipping])
        reread(stage)
        await settle(stage)
    first, second = await runs_of(database, queueing)
    assert (first["slot"], second["slot"]) == (0, 1)
    assert second["not_before"] > first["available_at"]
    assert len(await runs_of(database, last)) == 1
    assert await fetch(database, "select from sexton.timers where job_id = $1", last) == []
    assert [reason for _, reason, _ in await skips_of(database, skipping)] == ["overlap"]


async def test_without_quotas_nothing_is_metered(database: Database, stage: Stage) -> None:
    jobs = await add(database, 3)
    await due_now(database, jobs)
    await stage.round()
    assert len(await available(database)) == 3
    assert await fetch(database, "select from sexton.meters") == []
    await allow(database, live_runs=1, jobs=10)
    await allow(database, live_runs=None, jobs=None)
    assert await fetch(database, "select from sexton.meters") == []
