"""Jobs, runs and nodes put straight into the tables, and workers to run them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from sexton.config import Settings
from sexton.engine.worker.audience import Listeners
from sexton.engine.worker.isolation import Isolation
from sexton.engine.worker.worker import LOOPS, Worker
from sexton.errors import Unavailable
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.completion import read_key, token_of
from sexton.targets.handler import Handler

NOW = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)

# Long enough that nothing happens by itself in a test that does not want it to.
QUIET = Settings(worker_lease_seconds=3000, heartbeat_seconds=1000, poll_seconds=1000, sweep_seconds=1000)


class Store:
    """What a test puts into the tables and reads from them."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def fetch(self, sql: str, *arguments: Any) -> list[Any]:
        async with self.database.connection() as connection:
            return list(await connection.fetch(self.database.sql(sql), *arguments))

    async def row(self, sql: str, *arguments: Any) -> Any:
        rows = await self.fetch(sql, *arguments)
        assert len(rows) == 1, rows
        return rows[0]

    async def value(self, sql: str, *arguments: Any) -> Any:
        return (await self.row(sql, *arguments))[0]

    async def execute(self, sql: str, *arguments: Any) -> None:
        async with self.database.connection() as connection:
            await connection.execute(self.database.sql(sql), *arguments)

    async def lane(
        self,
        handler: str = "work",
        queue: str = "default",
        target: str = "handler",
        keyed: bool = False,
        namespace: str = "default",
    ) -> int:
        number: int = await self.value(
            """insert into sexton.lanes (namespace, queue, target, handler, keyed) values ($1, $2, $3, $4, $5)
            on conflict (namespace, queue, target, handler, keyed) do update set queue = excluded.queue
            returning id""",
            namespace,
            queue,
            target,
            handler if target == "handler" else "",
            keyed,
        )
        return number

    async def job(
        self,
        handler: str = "work",
        *,
        target: Mapping[str, Any] | None = None,
        payload: Any = None,
        kind: str = "cron",
        namespace: str = "default",
        **options: Any,
    ) -> int:
        number: int = await self.value(
            """insert into sexton.jobs
                (namespace, name, kind, schedule, timezone, timing_key, target, payload, options)
            values ($5, 'job-' || gen_random_uuid(), $4, '* * * * *', 'UTC', gen_random_uuid(), $1, $2, $3)
            returning id""",
            msgspec.json.encode(target or {"handler": handler}).decode(),
            None if payload is None else msgspec.json.encode(payload).decode(),
            msgspec.json.encode(options).decode(),
            kind,
            namespace,
        )
        return number

    async def run(
        self, job: int | None = None, *, handler: str = "work", namespace: str = "default", **columns: Any
    ) -> int:
        """A pending run, due now unless the columns say otherwise."""
        if job is None:
            job = await self.job(handler, namespace=namespace)
        values: dict[str, Any] = {
            "job_id": job,
            "lane": columns.pop("lane", None) or await self.lane(handler, namespace=namespace),
            "priority": 2,
            "available_at": NOW,
            "scheduled_at": NOW,
            "due_at": NOW,
            "revision": 1,
            **columns,
        }
        names = ", ".join(values)
        places = ", ".join(f"${place}" for place in range(1, len(values) + 1))
        number: int = await self.value(
            f"insert into sexton.runs ({names}) values ({places}) returning id", *values.values()
        )
        return number

    async def node(self, *, lease_until: datetime | None = None, state: str = "live") -> int:
        number: int = await self.value(
            """insert into sexton.nodes (name, roles, lease_until, version, state)
            values ('test:1:abc', '{worker}', coalesce($1, now() + interval '1 hour'), '0', $2)
            returning id""",
            lease_until,
            state,
        )
        return number

    async def token(self, run: int, claim: int = 1) -> str:
        """What a service that has the run shows."""
        key = await read_key(Context(self.database))
        return token_of(key, run, claim, (await self.live(run))["fired_at"])

    async def live(self, run: int) -> Any:
        return await self.row("select * from sexton.runs where id = $1", run)

    async def history(self, run: int) -> Any:
        return await self.row("select * from sexton.history where run_id = $1", run)

    async def statuses(self) -> dict[int, str]:
        return {
            row["run_id"]: row["status"]
            for row in await self.fetch("select run_id, status from sexton.history")
        }


@asynccontextmanager
async def working(
    database: Database,
    handlers: Mapping[str, Handler],
    *,
    settings: Settings = QUIET,
    now: Callable[[], datetime | None] = lambda: NOW,
    by_itself: bool = False,
    listeners: Listeners | None = None,
    isolation: Isolation | None = None,
    **changes: Any,
) -> AsyncIterator[Worker]:
    """A worker whose clock in SQL stands at `NOW`. Unless it works by itself, the test claims and watches."""
    changed = msgspec.structs.replace(settings, **changes)
    loops = LOOPS if by_itself else ["outcome_writer"]
    worker = Worker(
        database, changed, handlers, listeners=listeners, now=now, loops=loops, isolation=isolation
    )
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop(0)


async def settled(worker: Worker) -> None:
    """Wait until everything that was claimed has ended and its outcome is written."""
    while worker.state.in_hand or worker.state.unwritten_outcomes:
        await worker.idle()
        worker.outcome_writer.wake()
        await turn(worker)


async def turn(worker: Worker) -> None:
    """Let the worker's loops do something: one statement's time, not a time on the clock. A test may have cut
    the worker's connections: that takes its time as well."""
    with contextlib.suppress(Unavailable):
        async with worker.queue.connection() as connection:
            await connection.execute("select")


async def claim(worker: Worker, lanes: Sequence[int] | None = None, limit: int = 100) -> None:
    """Claim once, and start what was claimed."""
    node = await worker.joined()
    if lanes is None:
        await worker.claimer.find_lanes()
        lanes = worker.state.lanes
    rows = await worker.queue.claim(node, lanes, limit, now=worker.state.now())
    worker.runner.take(rows, node)


async def drained(worker: Worker) -> None:
    """Claim until there is nothing left to claim now, and wait for all of it."""
    while True:
        claimed = worker.telemetry.claimed._value.get()
        await claim(worker, limit=worker.state.concurrency)
        await settled(worker)
        if worker.telemetry.claimed._value.get() == claimed:
            return
