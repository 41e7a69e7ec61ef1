"""Many recurring jobs due at the same instant: fired, executed and recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sexton import clock
from sexton.benchmarks.bench import SCHEMA, Ground, cpu_seconds, ground, second_after
from sexton.benchmarks.limit import measure_limit
from sexton.schedules import parse

# Longer than this without an end, and the measurement has failed.
PATIENCE_SECONDS = 600


async def hot_second(url: str, *, jobs: int, workers: int, say: Callable[[str], None]) -> dict[str, Any]:
    """One measurement; `say` gets a line of progress now and then."""
    async with ground(url) as made:
        product = await _product(made, jobs, workers, say)
        await made.clear()
        say(f"the limit of this PostgreSQL: bare SQL, {jobs:,} jobs")
        due_at = await made.now()
        schedule = parse("0 0 * * *")
        await made.fill(schedule, jobs, due_at)
        limit_seconds = await measure_limit(made, jobs, due_at)
    limit = jobs / limit_seconds
    return {
        **product,
        "limit_seconds": round(limit_seconds, 3),
        "limit_per_second": round(limit),
        "ratio": round(product["per_second"] / limit, 3),
    }


async def _product(made: Ground, jobs: int, workers: int, say: Callable[[str], None]) -> dict[str, Any]:
    due_at = second_after(await made.now(), 8 + jobs / 40_000)
    schedule = parse(f"{due_at.second} {due_at.minute} {due_at.hour} * * *")
    say(f"{jobs:,} jobs, all due at {due_at:%H:%M:%S}Z")
    await made.fill(schedule, jobs, due_at)
    scheduler = await made.start("scheduler")
    for _ in range(workers):
        await made.start("worker")
    database_pids = await made.backend_pids()
    await _wait_until(made, due_at)
    database_before = cpu_seconds(database_pids)
    python_before = sum(process.cpu_seconds() for process in made.processes)
    await _wait_until_done(made, jobs, say)
    python_cpu = sum(process.cpu_seconds() for process in made.processes) - python_before
    database_cpu = cpu_seconds(await made.backend_pids()) - database_before
    peak = scheduler.peak_memory()
    workers_peak = max(process.peak_memory() for process in made.processes if process.role == "worker")
    await made.stop()
    ledger = await _ledger(made, due_at)
    seconds = ledger["seconds"]
    return {
        "jobs": jobs,
        "workers": workers,
        "seconds": round(seconds, 3),
        "per_second": round(jobs / seconds),
        "lost": jobs - ledger["distinct"],
        "doubled": ledger["rows"] - ledger["distinct"],
        "early": ledger["early"],
        "late_p50_seconds": round(ledger["p50"], 4),
        "late_p99_seconds": round(ledger["p99"], 4),
        "late_max_seconds": round(ledger["latest"], 4),
        "database_cpu_seconds_per_thousand": round(database_cpu / jobs * 1000, 4),
        "python_cpu_seconds_per_thousand": round(python_cpu / jobs * 1000, 4),
        "scheduler_peak_megabytes": round(peak / 1e6, 1),
        "worker_peak_megabytes": round(workers_peak / 1e6, 1),
    }


async def _wait_until(made: Ground, moment: datetime) -> None:
    now = await made.now()
    await clock.sleep(max(0.0, (moment - now).total_seconds() - 0.05))


async def _wait_until_done(made: Ground, jobs: int, say: Callable[[str], None]) -> None:
    """Ask rarely and cheaply: the question must not disturb the answer."""
    began = clock.monotonic()
    said = began
    while True:
        await clock.sleep(0.25)
        async with made.database.connection() as connection:
            busy = await connection.fetchval(
                f"""select exists (select from {SCHEMA}.runs)
                or exists (select from {SCHEMA}.timers where fired_count = 0 limit 1)"""
            )
        if not busy:
            return
        made.check()
        waited = clock.monotonic() - began
        if waited > PATIENCE_SECONDS:
            raise TimeoutError(f"{jobs:,} jobs were not done after {PATIENCE_SECONDS} s")
        if clock.monotonic() - said > 5:
            said = clock.monotonic()
            say(f"{waited:.0f} s …")


async def _ledger(made: Ground, due_at: datetime) -> dict[str, Any]:
    async with made.database.connection() as connection:
        row = await connection.fetchrow(
            f"""select count(*) as rows, count(distinct job_id) as distinct,
                   count(*) filter (where started_at < $1 or fired_at < $1) as early,
                   extract(epoch from max(recorded_at) - $1)::float8 as seconds,
                   extract(epoch from percentile_disc(0.5) within group (order by started_at) - $1)::float8 as p50,
                   extract(epoch from percentile_disc(0.99) within group (order by started_at) - $1)::float8 as p99,
                   extract(epoch from max(started_at) - $1)::float8 as latest
            from {SCHEMA}.history where status = 'success' and scheduled_at = $1""",
            due_at,
        )
    assert row is not None
    return dict(row)
