# Runs in an environment of its own, which has what it imports.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, misc"
"""Procrastinate: a worker with many jobs at a time, as its page on concurrency advises for coroutines.

Usage: procrastinate_worker.py install|enqueue|work DATABASE_URL [JOBS SECONDS]
"""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import UTC, datetime, timedelta

import procrastinate

CONCURRENCY = 30
CHUNK = 1000


def make(url: str) -> procrastinate.App:
    return procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=url, min_size=2, max_size=CONCURRENCY + 2)
    )


async def main(command: list[str]) -> None:
    app = make(command[1])

    @app.task(name="noop", pass_context=False)
    async def noop() -> None:
        pass

    async with app.open_async():
        match command:
            case ["install", _]:
                await app.schema_manager.apply_schema_async()
            case ["enqueue", _, jobs, seconds]:
                due = datetime.now(UTC) + timedelta(seconds=float(seconds))
                deferrer = noop.configure(schedule_at=due)
                for start in range(0, int(jobs), CHUNK):
                    await deferrer.batch_defer_async(*({} for _ in range(min(CHUNK, int(jobs) - start))))
                print(due.timestamp(), flush=True)
            case ["work", _]:
                print("ready", flush=True)
                await app.run_worker_async(concurrency=CONCURRENCY, fetch_job_polling_interval=1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main(sys.argv[1:]))
