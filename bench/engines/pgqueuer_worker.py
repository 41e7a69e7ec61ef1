# Runs in an environment of its own, which has what it imports.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, misc"
"""PgQueuer: consumers with a connection each in one process on uvloop, as in its own benchmark.

Usage: pgqueuer_worker.py install|enqueue|work DATABASE_URL [JOBS SECONDS]
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

CONSUMERS = 5
BATCH = 100
CHUNK = 5000


async def install(url: str) -> None:
    await Queries(AsyncpgDriver(await asyncpg.connect(url))).install()


async def enqueue(url: str, jobs: int, seconds: float) -> None:
    """All of them for one instant, so many seconds from now."""
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    due = await connection.fetchval("select clock_timestamp()") + timedelta(seconds=seconds)
    for start in range(0, jobs, CHUNK):
        count = min(CHUNK, jobs - start)
        wait = due - await connection.fetchval("select clock_timestamp()")
        await queries.enqueue(["noop"] * count, [None] * count, [0] * count, [wait] * count)
    print(due.timestamp(), flush=True)


async def work(url: str) -> None:
    async def consume() -> None:
        queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

        @queuer.entrypoint("noop")
        async def noop(job: Job) -> None:
            pass

        await queuer.run(batch_size=BATCH, dequeue_timeout=timedelta(seconds=1))

    print("ready", flush=True)
    await asyncio.gather(*(consume() for _ in range(CONSUMERS)))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["install", url]:
            uvloop.run(install(url))
        case ["enqueue", url, jobs, seconds]:
            uvloop.run(enqueue(url, int(jobs), float(seconds)))
        case ["work", url]:
            uvloop.run(work(url))
