"""How fast one worker process drains runs: claim, execute a no-op coroutine, record in history.

    python bench/drain.py --runs 100000 [--concurrency 100] [--profile]

Runs are put in directly; each belongs to a job of its own, as at a busy midnight. PostgreSQL is a private one
in a temporary directory unless --database-url is given (the schema `sexton_drain` is made there and dropped).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import json
import os
import pstats
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.engine.worker.worker import Worker
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.postgres.partitions import make_partitions
from sexton.postgres.server import private_server

SCHEMA = "sexton_drain"

FILL = """
with lane as (
    insert into sexton.lanes (queue, target, handler) values ('default', 'handler', $2) returning id
),
job as (
    insert into sexton.jobs (name, kind, schedule, timezone, timing_key, target, payload)
    select 'job-' || n, 'cron', '0 0 * * *', 'UTC', gen_random_uuid(),
        jsonb_build_object('handler', $2::text), '{"n": 1}'
    from generate_series(1, $1::int) as n
    returning id
)
insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
select job.id, lane.id, 2, now(), now(), now(), 1 from job, lane
"""


def postgres_cpu(postmaster: int) -> float:
    """CPU seconds of all processes of a PostgreSQL on this machine, ended ones included."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(entry.name) == postmaster:
                    ticks += sum(map(int, fields[11:15]))
                elif int(fields[1]) == postmaster:
                    ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def server(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    with (
        tempfile.TemporaryDirectory(prefix="sexton-drain-") as directory,
        private_server(Path(directory)) as own,
    ):
        yield own


async def drain(url: str, runs: int, concurrency: int, claim_size: int, profile: bool) -> dict[str, object]:
    database = await Database.open(url, schema=SCHEMA, timeout=300)
    async with database.connection() as connection:
        await connection.execute(f"drop schema if exists {SCHEMA} cascade")
        await connection.execute(f"create schema {SCHEMA}")
    await migrate(database)
    await make_partitions(database, days=1)
    async with database.connection() as connection:
        await connection.execute(database.sql(FILL), runs, "sexton.noop")
        await connection.execute(database.sql("vacuum analyze sexton.runs"))
        await connection.execute(database.sql("vacuum analyze sexton.jobs"))
        await connection.execute("checkpoint")
    settings = msgspec.structs.replace(
        Settings(database_url=url, schema=SCHEMA), concurrency=concurrency, claim_size=claim_size
    )
    worker = Worker(database, settings, {})
    profiler = cProfile.Profile()
    async with database.connection() as connection:
        backend = await connection.fetchval("select pg_backend_pid()")
    postmaster = int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])
    database_cpu = postgres_cpu(postmaster)
    cpu = resource.getrusage(resource.RUSAGE_SELF)
    began = clock.monotonic()
    if profile:
        profiler.enable()
    await worker.start()
    left = runs
    async with database.connection() as connection:
        while left:
            await clock.sleep(0.05)
            if worker.telemetry.succeeded._value.get() >= runs:
                left = await connection.fetchval(database.sql("select count(*) from sexton.runs"))
    seconds = clock.monotonic() - began
    profiler.disable()
    after = resource.getrusage(resource.RUSAGE_SELF)
    database_cpu = postgres_cpu(postmaster) - database_cpu
    await worker.stop()
    async with database.connection() as connection:
        recorded, distinct = await connection.fetchrow(  # type: ignore[misc]
            database.sql(
                "select count(*), count(distinct run_id) from sexton.history where status = 'success'"
            )
        )
        await connection.execute(f"drop schema {SCHEMA} cascade")
    await database.close()
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(30)
    used = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
    return {
        "runs": runs,
        "concurrency": concurrency,
        "seconds": round(seconds, 2),
        "per_second": round(runs / seconds),
        "python_microseconds_per_run": round(used / runs * 1e6, 1),
        "postgres_microseconds_per_run": round(database_cpu / runs * 1e6, 1),
        "lost": runs - distinct,
        "doubled": recorded - distinct,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--concurrency", type=int, default=Settings().concurrency)
    parser.add_argument("--claim-size", type=int, default=Settings().claim_size)
    parser.add_argument("--database-url")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with server(options.database_url) as url:
        figures = asyncio.run(
            drain(url, options.runs, options.concurrency, options.claim_size, options.profile)
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
