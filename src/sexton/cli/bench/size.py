"""Very many jobs, of which almost none are due: what they cost while idle."""

from __future__ import annotations

import random
import statistics
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from sexton import clock
from sexton.cli.bench.harness import (
    SCHEMA,
    SHARDS,
    Ground,
    Say,
    SharedSchedule,
    ground,
)
from sexton.config import Settings
from sexton.errors import Unavailable
from sexton.postgres.database import BY_KEY, array_text
from sexton.schedules import parse

SCHEDULES = 300
FEW = 10_000
BATCHES = 5
ROUNDS = 3
SCANS = 20
PROGRESS = 200_000

# After this time at the latest, the statistics include what a session has done.
STATISTICS_SECONDS = 11

NO_AUTOVACUUM = f"""
do $$
declare one text;
begin
    for one in
        select oid::regclass::text
        from pg_class
        where relkind = 'r' and relnamespace = '{SCHEMA}'::regnamespace
    loop
        execute 'alter table ' || one || ' set (autovacuum_enabled = false)';
    end loop;
end $$
"""

# Nothing falls due while the measurement lasts.
AWAY = timedelta(hours=2)


async def size(url: str, *, jobs: int, idle_seconds: int, say: Say) -> dict[str, Any]:
    """One measurement; `say` gets lines of progress."""
    async with ground(url) as made:
        few = min(FEW, jobs)
        await _fill(made, 1, few, say)
        firing_few = await _firing_seconds(made, few)
        say(f"filling: {jobs:,} jobs of {SCHEDULES} schedules")
        began = clock.monotonic()
        await _fill(made, few + 1, jobs, say)
        filled_seconds = clock.monotonic() - began
        stored = await made.watch.fetchval(
            f"select pg_total_relation_size('{SCHEMA}.jobs') + pg_total_relation_size('{SCHEMA}.timers')"
        )
        say("what a firing costs")
        firing_many = await _firing_seconds(made, jobs)
        scan = await _scan_seconds(made)
        say("starting a scheduler")
        ready = await _ready_seconds(made, jobs + 1)
        say("an idle scheduler and an idle worker")
        idle = await _idle_transactions(made, idle_seconds) / 2
        peak = made.peak_megabytes("scheduler")
        return {
            "jobs": jobs,
            "schedules": SCHEDULES,
            "ready_seconds": round(ready, 3),
            "scheduler_peak_megabytes": peak,
            "bytes_per_job": round(stored / jobs),
            "due_scan_milliseconds": round(scan * 1000, 3),
            "firing_microseconds": round(firing_many * 1e6, 2),
            "firing_microseconds_of_few": round(firing_few * 1e6, 2),
            "few": few,
            "firing_ratio": round(firing_many / firing_few, 3),
            "idle_statements_per_second_and_node": round(idle, 2),
            "filled_per_second": round((jobs - few) / filled_seconds) if jobs > few else None,
        }


async def _fill(made: Ground, first: int, last: int, say: Say) -> None:
    rules = _rules(await made.now())
    for start in range(first, last + 1, PROGRESS):
        end = min(start + PROGRESS, last + 1)
        await made.fill(range(start, end), rules)
        if end > PROGRESS:
            say(f"{end - 1:,} jobs")
    await made.settle()


def _rules(now: datetime) -> list[SharedSchedule]:
    """Distinct schedules, none of which fires soon."""
    rules: list[SharedSchedule] = []
    for number in range(SCHEDULES * 2):
        schedule = parse(f"{number % 60} {number % 24} {number % 28 + 1} * *")
        next_at = schedule.next_after(now)
        if next_at is not None and next_at > now + AWAY:
            rules.append(SharedSchedule(schedule, next_at))
    return rules[:SCHEDULES]


async def _firing_seconds(made: Ground, jobs: int) -> float:
    """The time of one firing in a batch whose jobs are spread over all jobs: the best of some rounds."""
    connection = await asyncpg.connect(made.database.url, command_timeout=600, server_settings=BY_KEY)
    try:
        return min([await _firing_round(made, connection, jobs) for _ in range(ROUNDS)])
    finally:
        await connection.close()


async def _firing_round(made: Ground, connection: asyncpg.Connection[asyncpg.Record], jobs: int) -> float:
    batch = min(Settings().batch_size, max(1, jobs // BATCHES))
    # In the order of their ids, as the scheduler fires jobs that are due at the same time.
    chosen = sorted(random.sample(range(1, jobs + 1), min(jobs, batch * BATCHES)))
    due_at = await made.now()
    next_at = due_at + timedelta(days=1)
    await connection.execute(
        f"update {SCHEMA}.timers set scheduled_at = $2, due_at = $2 where job_id = any($1)", chosen, due_at
    )
    # Remove the dead row versions of this update: a real firing does not meet them.
    await connection.execute(f"vacuum {SCHEMA}.timers")
    shards = list(range(SHARDS))
    epochs = [
        row["epoch"] for row in await connection.fetch(f"select epoch from {SCHEMA}.shards order by id")
    ]
    took = []
    for start in range(0, len(chosen), batch):
        part = chosen[start : start + batch]
        began = clock.monotonic()
        row = await made.database.fetchrow(
            "firing/fire",
            on=connection,
            jobs=array_text(part),
            groups=array_text([1] * len(part)),
            revisions=[1],
            scheduled=[due_at],
            due=[due_at],
            next_scheduled=[next_at],
            next_due=[next_at],
            shards=shards,
            epochs=epochs,
            now=None,
        )
        took.append((clock.monotonic() - began) / len(part))
        assert row is not None
        if row["fired"] != len(part):
            raise Unavailable("bench_failed", f"{row['fired']} of {len(part)} jobs were fired")
    await connection.execute(f"truncate {SCHEMA}.runs")
    return statistics.median(took)


async def _scan_seconds(made: Ground) -> float:
    """The time to read what falls due in a shard within the horizon, as the scheduler does."""
    now = await made.now()
    until = now + timedelta(seconds=Settings().horizon_seconds)
    took = []
    for number in range(SCANS):
        began = clock.monotonic()
        await made.database.fetch(
            "firing/load_timers",
            on=made.watch,
            shards=[number % SHARDS],
            after=now - timedelta(days=1),
            until=until,
        )
        took.append(clock.monotonic() - began)
    return statistics.median(took)


async def _ready_seconds(made: Ground, probe: int) -> float:
    """The time from the start of a scheduler's process to the firing of a job that is due already."""
    due_at = await made.now()
    await made.fill([probe], [SharedSchedule(parse(f"{due_at.minute} {due_at.hour} * * *"), due_at)])
    began = await made.now()
    await made.start("scheduler")
    await made.wait_for(f"select exists (select from {SCHEMA}.runs where job_id = $1)", probe, every=0.05)
    fired_at = await made.watch.fetchval(f"select fired_at from {SCHEMA}.runs where job_id = $1", probe)
    seconds: float = (fired_at - began).total_seconds()
    return seconds


async def _idle_transactions(made: Ground, seconds: int) -> float:
    """Transactions a second of an idle scheduler and an idle worker; nearly all are one statement."""
    # The statistics are those of the whole database, so autovacuum must not run meanwhile.
    await made.watch.execute(NO_AUTOVACUUM)
    await made.start("worker")
    await made.ready(1)
    await made.wait_for(f"select not exists (select from {SCHEMA}.runs where id > 0)")
    await made.wait_for("select not exists (select from pg_stat_progress_vacuum)")
    await clock.sleep(STATISTICS_SECONDS)
    before, began = await _transactions(made), clock.monotonic()
    await clock.sleep(seconds)
    # One of them is the question itself.
    return max(0, await _transactions(made) - before - 1) / (clock.monotonic() - began)


async def _transactions(made: Ground) -> int:
    count: int = await made.watch.fetchval(
        "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
    )
    return count
