"""A constant rate of firings for a while, spread in time to the millisecond: how late runs start."""

from __future__ import annotations

from datetime import datetime, timedelta
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
from sexton.jobs.spread import jitter_of
from sexton.schedules import Schedule, parse

# Every job fires once in a period, each at its own millisecond of it.
PERIOD_SECONDS = 10
WARM_UP_SECONDS = 3
LEAD_SECONDS = 5.0
FILLED_PER_SECOND = 15_000
TRIES = 5


async def steady(url: str, *, rate: int, seconds: int, workers: int, say: Say) -> dict[str, Any]:
    """One measurement; `say` gets lines of progress."""
    async with ground(url) as made:
        start = await _prepare(made, rate, workers, say)
        say(f"{rate:,} firings a second for {seconds} seconds, after {WARM_UP_SECONDS} to warm up")
        begin = start + timedelta(seconds=WARM_UP_SECONDS)
        end = begin + timedelta(seconds=seconds)
        await made.sleep_until(begin)
        before = made.usage()
        await made.sleep_until(end)
        used = made.usage().since(before)
        memory = {f"{role}_peak_megabytes": made.peak_megabytes(role) for role in ("scheduler", "worker")}
        await _wait_until_fired(made, end)
        await made.stop("scheduler")
        await made.wait_for(f"select not exists (select from {SCHEMA}.runs where id > 0)", patience=60)
        await made.stop()
        ledger = await _ledger(made, start, begin, end)
        runs = ledger["measured"]
        if not runs:
            raise Unavailable("bench_failed", "nothing was recorded")
        product = {
            "jobs": runs,
            "workers": workers,
            "seconds": seconds,
            "rate": rate,
            "per_second": round(runs / seconds),
            **account(ledger, ledger["expected"], runs, used),
            **memory,
        }
        await made.clear()
        return {**product, **await measure_limit(made, runs, product["per_second"], say)}


async def _prepare(made: Ground, rate: int, workers: int, say: Say) -> datetime:
    """Start processes that are ready for the first period; when it begins."""
    jobs = range(1, rate * PERIOD_SECONDS + 1)
    lead = LEAD_SECONDS + len(jobs) / FILLED_PER_SECOND
    for _ in range(TRIES):
        start = second_after(await made.now(), lead)
        await made.fill(
            jobs,
            [SharedSchedule(_schedule(start), start)],
            jitter=lambda job: jitter_of(job, PERIOD_SECONDS),
            options=f'{{"jitter_seconds":{PERIOD_SECONDS}}}',
        )
        await made.settle()
        for role in ["scheduler"] + ["worker"] * workers:
            await made.start(role)
        await made.ready(workers)
        if await made.now() < start:
            return start
        await made.stop()
        await made.clear()
        lead *= 2
        say("not ready in time; trying again")
    raise Unavailable("bench_failed", "the machine is too busy to get ready in time", hint="lower the rate")


def _schedule(start: datetime) -> Schedule:
    """An interval whose first occurrence is at `start`, one period after its anchor."""
    return parse(f"every {PERIOD_SECONDS}s", anchor=start - timedelta(seconds=PERIOD_SECONDS))


async def _wait_until_fired(made: Ground, end: datetime) -> None:
    await made.wait_for(
        f"""select not exists (
                select from generate_series(0, $2) as shard (id)
                join {SCHEMA}.timers as timer on timer.shard = shard.id and timer.due_at < $1
            )""",
        end,
        SHARDS - 1,
    )


async def _ledger(made: Ground, start: datetime, begin: datetime, end: datetime) -> dict[str, Any]:
    """Everything since the start must be recorded once; lateness counts what was due in the measured time."""
    async with made.database.connection() as connection:
        row = await connection.fetchrow(
            f"""with recorded as (
                    select h.job_id, h.scheduled_at, h.started_at, h.fired_at,
                        h.scheduled_at + (t.due_at - t.scheduled_at) as due_at
                    from {SCHEMA}.history h join {SCHEMA}.timers t using (job_id)
                    where h.status = 'success'
                ), measured as (
                    select extract(epoch from started_at - due_at)::float8 as late
                    from recorded where due_at >= $2 and due_at < $3
                )
                select
                    (select sum(extract(epoch from scheduled_at - $1) / $4)::bigint
                        from {SCHEMA}.timers) as expected,
                    (select count(*) from recorded) as rows,
                    (select count(distinct (job_id, scheduled_at)) from recorded) as distinct,
                    (select count(*) from recorded where started_at < due_at or fired_at < due_at) as early,
                    count(*) as measured, max(late) as latest,
                    percentile_disc(0.5) within group (order by late) as p50,
                    percentile_disc(0.99) within group (order by late) as p99
                from measured""",
            start,
            begin,
            end,
            PERIOD_SECONDS,
        )
    assert row is not None
    return dict(row)
