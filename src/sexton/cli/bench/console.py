"""The console's pages over very many jobs and a long history: what each of their questions takes, and what
open consoles cost the process that serves them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from sexton import clock
from sexton.cli.bench.harness import SCHEMA, SHARDS, Ground, Say, ground
from sexton.cli.bench.pages import pages
from sexton.errors import Unavailable
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded
from sexton.schedules import parse

# History lies in so many days, today included.
DAYS = 10
SLOW_MILLISECONDS = 200.0
ROUNDS = 5
WATCHED_SECONDS = 20.0
CHUNK = 250_000

# Jobs with names of two words and a number; one in a hundred is paused.
JOBS = f"""
insert into {SCHEMA}.jobs (id, name, status, kind, schedule, timezone, timing_key, target, labels, owner)
select n,
    'team-' || n % 40 || '/'
        || (array['report', 'invoice', 'backup', 'sync', 'mail', 'index'])[1 + n % 6] || '-' || n,
    case when n % 100 = 0 then 'paused' else 'active' end, 'cron', rule.text, 'UTC', rule.key,
    '{{"handler": "sexton.noop"}}', jsonb_build_object('team', (n % 40)::text), 'owner-' || n % 200
from generate_series($1::bigint, $2::bigint) as n
join unnest($3::text[], $4::uuid[]) with ordinality as rule (text, key, place)
    on rule.place = 1 + n % cardinality($3::text[])
"""

TIMERS = f"""
insert into {SCHEMA}.timers (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
select job.id, {SCHEMA}.shard_of(job.id, {SHARDS}), 1, job.timing_key, rule.next_at,
    case when job.status = 'paused' then 'infinity' else rule.next_at end, $3, 2
from {SCHEMA}.jobs as job
join unnest($4::uuid[], $5::timestamptz[]) as rule (key, next_at) on rule.key = job.timing_key
where job.id between $1 and $2
"""

# One day: most end well, one in five hundred dies, one in a thousand is skipped; one in fifty was late.
HISTORY = f"""
insert into {SCHEMA}.history
    (recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, revision, attempt, claim,
     fired_at, started_at, finished_at, error)
select at + interval '200 ms', case when n % 1000 <> 1 then $4::bigint + n end, 1 + (n * 7919) % $5::bigint,
    at - case when n % 50 = 0 then interval '3 s' else interval '10 ms' end,
    case when n % 500 = 0 then 'dead' when n % 1000 = 1 then 'skipped' else 'success' end,
    case when n % 1000 = 1 then 'overlap' end,
    case when n % 300 = 0 then 'manual' else 'schedule' end, 1, 1, 1,
    at, at, at + interval '100 ms',
    case when n % 500 = 0 then 'ConnectionError: host ' || n % 7 || ' is away' end
from generate_series(1, $3::bigint) as n
cross join lateral (select $1::timestamptz + n * ($2::timestamptz - $1::timestamptz) / $3) as moment (at)
"""

DEAD = f"""
insert into {SCHEMA}.dead
    (run_id, job_id, died_at, reason, error, error_group, lane, priority, scheduled_at, due_at, revision,
     trigger, missed, attempt)
select run_id, job_id, recorded_at, 'exhausted', error, 'ConnectionError: host # is away', $1, 2,
    scheduled_at, scheduled_at, 1, 'schedule', false, 3
from {SCHEMA}.history
where status = 'dead' and run_id is not null and recorded_at > now() - interval '1 day'
limit 20000
"""

HAPPENS = f"""
insert into {SCHEMA}.history
    (run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at, finished_at)
select 9000000000 + n, n, now(), 'success', 'schedule', 1, now(), now(), now()
from generate_series(1, 20) as n
"""


async def console(url: str, *, jobs: int, history: int, consoles: int, say: Say) -> dict[str, Any]:
    """One measurement; `say` gets a line of progress now and then."""
    async with ground(url) as made:
        now = await made.now()
        await _fill_jobs(made, jobs, now, say)
        await _fill_history(made, jobs, history, now, say)
        counted = await _count(made, say)
        took = await _ask(made, jobs, say)
        slowest = max(took, key=lambda name: took[name])
        feed = await _follow(made, consoles, say)
        return {
            "jobs": jobs,
            "history": history,
            **counted,
            "milliseconds": took,
            "slowest": slowest,
            "slowest_milliseconds": took[slowest],
            "slow": [name for name, value in took.items() if value > SLOW_MILLISECONDS],
            **feed,
        }


async def _fill_jobs(made: Ground, jobs: int, now: datetime, say: Say) -> None:
    rules = [parse(text) for text in _rules()]
    texts, keys = [rule.text for rule in rules], [rule.timing_key for rule in rules]
    nexts = [rule.next_after(now) for rule in rules]
    for first in range(1, jobs + 1, CHUNK):
        last = min(first + CHUNK - 1, jobs)
        async with made.database.connection() as connection:
            await connection.execute(JOBS, first, last, texts, keys, timeout=900)
            await connection.execute(TIMERS, first, last, made.lane, keys, nexts, timeout=900)
        say(f"{last:,} jobs")


def _rules() -> list[str]:
    """300 schedules, a third of which fire every hour, the others on some hour of each day or week."""
    hourly = [f"{minute} * * * *" for minute in range(60)] + [
        f"*/{step} * * * *" for step in (5, 10, 15, 20, 30)
    ]
    daily = [f"{n % 60} {n % 24} * * *" for n in range(135)]
    weekly = [f"{n % 60} {n % 24} * * {n % 7}" for n in range(100)]
    return list(dict.fromkeys([*hourly, *daily, *weekly]))


async def _fill_history(made: Ground, jobs: int, history: int, now: datetime, say: Say) -> None:
    await make_partitions(made.database, now=now - timedelta(days=DAYS), days=DAYS)
    each = max(1, history // DAYS)
    begins = now - timedelta(days=DAYS)
    for day in range(DAYS):
        start = begins + timedelta(days=day)
        async with made.database.connection() as connection:
            await connection.execute(
                HISTORY, start, start + timedelta(days=1), each, day * each, jobs, timeout=1800
            )
        say(f"{(day + 1) * each:,} rows of history")
    async with made.database.connection() as connection:
        await connection.execute(DEAD, made.lane, timeout=600)
        for table in ("history", "dead", "jobs", "timers"):
            await connection.execute(f"vacuum (analyze) {SCHEMA}.{table}", timeout=1800)


async def _count(made: Ground, say: Say) -> dict[str, Any]:
    """As the scheduler counts what history holds, in pieces."""
    say("counting by minute")
    context = Context(made.database, actor="bench")
    began, rounds = clock.monotonic(), 0
    while not (await count_recorded(context, timedelta(minutes=30)))[1]:
        rounds += 1
    async with made.database.connection() as connection:
        await connection.execute(f"vacuum (analyze) {SCHEMA}.activity", timeout=600)
        counted = await connection.fetchval(f"select sum(runs)::bigint from {SCHEMA}.activity") or 0
    seconds = clock.monotonic() - began
    return {"counted_microseconds_per_run": round(seconds / max(1, counted) * 1e6, 2)}


async def _ask(made: Ground, jobs: int, say: Say) -> dict[str, float]:
    """The median of some rounds for every question of every page; the first is not counted."""
    context = Context(made.database, actor="bench")
    asked = await pages(context, jobs)
    return {name: await _median(name, question, say) for name, question in asked.items()}


async def _median(name: str, question: Callable[[], Awaitable[Any]], say: Say) -> float:
    took = []
    for _ in range(ROUNDS + 1):
        began = clock.monotonic()
        await question()
        took.append(clock.monotonic() - began)
    median = round(statistics.median(took[1:]) * 1000, 1)
    say(f"{median:8.1f} ms  {name}")
    return median


async def _follow(made: Ground, consoles: int, say: Say) -> dict[str, Any]:
    """Open consoles in front of a process of their own, while something happens every second."""
    if not consoles:
        return {}
    say(f"{consoles} open consoles")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await made.start("api", SEXTON_PORT=str(port), SEXTON_HOST="127.0.0.1")
    stop = asyncio.Event()
    heard = [0]
    readers = [asyncio.create_task(_listen(port, heard, stop)) for _ in range(consoles)]
    try:
        async with asyncio.timeout(120):
            while heard[0] < consoles:
                made.check()
                await clock.sleep(0.2)
        before, events, began = process.cpu_seconds(), heard[0], clock.monotonic()
        while clock.monotonic() - began < WATCHED_SECONDS:
            await made.watch.execute(HAPPENS)
            await clock.sleep(0.5)
        seconds = clock.monotonic() - began
        used = (process.cpu_seconds() - before) / seconds
    except TimeoutError:
        raise Unavailable("bench_failed", f"only {heard[0]} of {consoles} consoles heard anything") from None
    finally:
        stop.set()
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        await made.stop("api")
    return {
        "consoles": consoles,
        "cores_of_the_api": round(used, 3),
        "events_per_console_and_second": round((heard[0] - events) / seconds / consoles, 2),
    }


async def _listen(port: int, heard: list[int], stop: asyncio.Event) -> None:
    """Read a feed, and count what comes."""
    while not stop.is_set():
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
                while line := await reader.readline():
                    heard[0] += line.startswith(b"event: ")
            finally:
                writer.close()
        await clock.sleep(0.5)
