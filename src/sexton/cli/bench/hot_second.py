"""Many recurring jobs due at the same instant: fired, executed and recorded."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sexton.cli.bench.harness import (
    SCHEMA,
    SHARDS,
    Ground,
    Say,
    SharedSchedule,
    account,
    ground,
    second_after,
)
from sexton.cli.bench.limit import measure_limit
from sexton.errors import Unavailable
from sexton.schedules import parse

# The time for filling, starting and loading before the jobs are due; doubled if it was not enough.
LEAD_SECONDS = 5.0
FILLED_PER_SECOND = 20_000
LOADED_PER_SECOND = 100_000
TRIES = 5


async def hot_second(
    url: str, *, jobs: int, workers: int, say: Say, queue_url: str = "postgres"
) -> dict[str, Any]:
    """One measurement; `say` gets lines of progress."""
    async with ground(url, queue_url) as made:
        product = await _product(made, jobs, workers, say)
        await made.clear()
        return {**product, **await measure_limit(made, jobs, product["per_second"], say)}


async def _product(made: Ground, jobs: int, workers: int, say: Say) -> dict[str, Any]:
    due_at = await _prepare(made, jobs, workers, say)
    await made.sleep_until(due_at)
    before = made.usage()
    await _wait_until_done(made, jobs, due_at)
    used = made.usage().since(before)
    memory = {f"{role}_peak_megabytes": made.peak_megabytes(role) for role in ("scheduler", "worker")}
    await made.stop()
    ledger = await _ledger(made, due_at)
    seconds = ledger["seconds"]
    if seconds is None:
        raise Unavailable("bench_failed", "nothing was recorded")
    return {
        "jobs": jobs,
        "workers": workers,
        "seconds": round(seconds, 3),
        "per_second": round(jobs / seconds),
        **account(ledger, jobs, jobs, used),
        **memory,
    }


async def _prepare(made: Ground, jobs: int, workers: int, say: Say) -> datetime:
    """Make jobs that are due soon, and start processes for them."""
    lead = LEAD_SECONDS + jobs / FILLED_PER_SECOND
    for _ in range(TRIES):
        due_at = second_after(await made.now(), lead)
        say(f"{jobs:,} jobs, all due at {due_at:%H:%M:%S}Z")
        schedule = parse(f"{due_at.second} {due_at.minute} {due_at.hour} * * *")
        await made.fill(range(1, jobs + 1), [SharedSchedule(schedule, due_at)])
        await made.settle()
        for role in ["scheduler"] + ["worker"] * workers:
            await made.start(role)
        await made.ready(workers)
        if ((due_at - await made.now()).total_seconds()) > 1 + jobs / LOADED_PER_SECOND:
            return due_at
        await made.stop()
        await made.clear()
        lead *= 2
        say("not ready in time; trying again")
    raise Unavailable(
        "bench_failed", "the machine is too busy to get ready in time", hint="measure fewer jobs"
    )


async def _wait_until_done(made: Ground, jobs: int, due_at: datetime) -> None:
    """Asked rarely, because the query reads the dead entries of two indexes. The time is taken from the
    ledger."""
    await made.wait_for(
        f"""select not exists (
                select from generate_series(0, $2) as shard (id)
                join {SCHEMA}.timers as timer on timer.shard = shard.id and timer.due_at <= $1
            )
            and not exists (select from {SCHEMA}.runs where id > 0)""",
        due_at,
        SHARDS - 1,
        every=min(2.0, 0.25 + jobs / 200_000),
        patience=60 + jobs / 500,
    )


async def _ledger(made: Ground, due_at: datetime) -> dict[str, Any]:
    async with made.database.connection() as connection:
        row = await connection.fetchrow(
            f"""select count(*) as rows, count(distinct job_id) as distinct,
                   count(*) filter (where late < 0 or fired_at < $1) as early,
                   extract(epoch from max(recorded_at) - $1)::float8 as seconds,
                   percentile_disc(0.5) within group (order by late) as p50,
                   percentile_disc(0.99) within group (order by late) as p99,
                   max(late) as latest
            from (
                select *, extract(epoch from started_at - $1)::float8 as late
                from {SCHEMA}.history where status = 'success' and scheduled_at = $1
            ) as recorded""",
            due_at,
        )
    assert row is not None
    return dict(row)
