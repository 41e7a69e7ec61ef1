"""The limit: the row writes of firing and draining as bare set-based SQL, at once, on the same tables."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from sexton import clock
from sexton.cli.bench.harness import (
    SCHEMA,
    Ground,
    Say,
    SharedSchedule,
    per_thousand,
)
from sexton.postgres.database import in_schema
from sexton.schedules import parse

BATCH = 2000
DRAINS = 2

FIRE = """
with moved as (
    update sexton.timers set scheduled_at = $3, due_at = $3, fired_count = fired_count + 1
    where job_id between $1 and $2
    returning job_id, revision, lane, priority
)
insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
select job_id, lane, priority, $4::timestamptz, $4, $4, revision from moved
"""

CLAIM = """
with picked as (
    select id from sexton.runs
    where lane = $1 and priority = 2 and state in ('pending', 'failed') and available_at <= clock_timestamp()
    order by available_at limit $2
    for update skip locked
), claimed as (
    update sexton.runs r
    set state = 'running', claim = r.claim + 1, attempt = r.attempt + 1, node = 1,
        claimed_at = clock_timestamp()
    from picked where r.id = picked.id
    returning r.id
)
select array_agg(id) from claimed
"""

FINISH = """
with ended as (
    delete from sexton.runs where id = any($1)
    returning id, job_id, scheduled_at, trigger, missed, revision, attempt, claim, node, fired_at, claimed_at
)
insert into sexton.history
    (run_id, job_id, scheduled_at, status, trigger, missed, revision, attempt, claim, node, fired_at,
     started_at, finished_at)
select id, job_id, scheduled_at, 'success', trigger, missed, revision, attempt, claim, node, fired_at,
       claimed_at, clock_timestamp()
from ended
"""


async def measure_limit(ground: Ground, jobs: int, per_second: float, say: Say) -> dict[str, Any]:
    """The limit for this many jobs in an empty schema, and the ratio of `per_second` to it."""
    say(f"the limit of this PostgreSQL: bare SQL, {jobs:,} jobs")
    due_at = await ground.now()
    await ground.fill(range(1, jobs + 1), [SharedSchedule(parse("0 0 * * *"), due_at)])
    await ground.settle()
    before = ground.usage()
    seconds = await _fire_and_drain(ground, jobs, due_at)
    used = ground.usage().since(before)
    limit = jobs / seconds
    return {
        "limit_seconds": round(seconds, 3),
        "limit_per_second": round(limit),
        "ratio": round(per_second / limit, 3),
        "limit_database_cpu_seconds_per_thousand": per_thousand(used.database, jobs),
    }


async def _fire_and_drain(ground: Ground, jobs: int, due_at: datetime) -> float:
    """How many seconds it takes."""
    drained = 0

    async def fire(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        for first in range(1, jobs + 1, BATCH):
            last = min(first + BATCH - 1, jobs)
            await connection.execute(_sql(FIRE), first, last, due_at + timedelta(days=1), due_at)

    async def drain(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        nonlocal drained
        while drained < jobs:
            ids = await connection.fetchval(_sql(CLAIM), ground.lane, BATCH)
            if ids:
                await connection.execute(_sql(FINISH), ids)
                drained += len(ids)
            else:
                await clock.sleep(0.005)

    connections = [await asyncpg.connect(ground.database.url, command_timeout=600) for _ in range(DRAINS + 1)]
    try:
        began = clock.monotonic()
        await asyncio.gather(fire(connections[0]), *(drain(connection) for connection in connections[1:]))
        return clock.monotonic() - began
    finally:
        for connection in connections:
            await connection.close()


def _sql(text: str) -> str:
    return in_schema(text, SCHEMA)
