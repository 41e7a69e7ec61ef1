"""Test what an application does in a week, in a moment.

    async with engine(app, at=datetime(2026, 6, 1, tzinfo=UTC)) as test:
        await test.advance(days=7)
        assert [run.status for run in test.runs] == ["success"]

The scheduler, the worker, the statements and PostgreSQL are the real ones; only the clock is manual, and
rounds are made one by one. The application's own database is not touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta

import msgspec

from sexton.app import Sexton
from sexton.config import Settings
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.cluster.membership import Membership
from sexton.engine.scheduler.scheduler import Scheduler
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.engine.worker.worker import Worker
from sexton.jobs.page import MOST_ROWS
from sexton.postgres.database import Database
from sexton.postgres.partitions import make_partitions
from sexton.postgres.shared import configured_database
from sexton.postgres.transaction import Context
from sexton.runs.read import ENDED, LIVE, list_runs
from sexton.runs.view import RunView
from sexton.testing.manual import ManualClock
from sexton.testing.scratch import scratch_database, scratch_server

MOST_ROUNDS = 200

# Nothing happens by itself: leases outlast any test, and all timers are within sight.
STILL = {
    "lease_seconds": 1e6,
    "renew_seconds": 1e5,
    "worker_lease_seconds": 1e6,
    "heartbeat_seconds": 1e5,
    "horizon_seconds": 3e9,
    "catch_up_rate": 1e12,
    "queues": "*",
    "elector": "postgres",
    "queue_url": "postgres",
    "schema": "sexton",
}

NEXT = """
select min(at) from (
    select min(due_at) as at from sexton.timers where due_at > $1 and due_at < 'infinity'
    union all
    select min(available_at) from sexton.runs
    where state in ('pending', 'failed') and available_at > $1 and available_at < 'infinity'
    union all
    select min(expires_at) from sexton.runs where expires_at > $1
    union all
    select min(paused_until) from sexton.jobs where status = 'paused' and paused_until > $1
) as coming
"""


@asynccontextmanager
async def engine(app: Sexton, *, at: datetime, server: str | None = None) -> AsyncIterator[Engine]:
    """Run an application on a manual clock that begins at `at`.

    It gets a database of its own, on `server` (an address whose user may create databases), or on a private
    PostgreSQL that is started for it. Within the block, the commands of `app` use that database and time.
    """
    settings = app.settings
    time = ManualClock(at)
    async with AsyncExitStack() as stack:
        if server is None:
            server = await stack.enter_async_context(scratch_server())
        url = await stack.enter_async_context(scratch_database(server))
        settings = msgspec.structs.replace(settings, database_url=url, **STILL)

        def opening(patient: bool) -> AbstractAsyncContextManager[Database]:
            return configured_database(settings, app.name, patient=patient)

        # What a synchronous client holds open belongs to the other database.
        await asyncio.to_thread(app.sync.close)
        stack.enter_context(app._rehearsing(settings, opening, lambda: time.at))
        stack.push_async_callback(asyncio.to_thread, app.sync.close)
        database = await stack.enter_async_context(app.connected())
        test = Engine(app, database, time)
        await test.start()
        stack.push_async_callback(test.stop)
        yield test


class Engine:
    """An application under test: move its time, and look at its runs."""

    def __init__(self, app: Sexton, database: Database, time: ManualClock) -> None:
        settings: Settings = app.settings
        self.app = app
        self.database = database
        self.clock = time
        self.runs: list[RunView] = []
        self._seen: set[str] = set()
        self._again_at: datetime | None = None  # when a rate limit lets something go
        membership = Membership(roles=["scheduler"], lease_seconds=settings.lease_seconds, time=time)
        self._leadership = Leadership(database, settings, membership)
        self._scheduler = Scheduler(database, settings, self._leadership)
        self._worker = Worker(
            database,
            settings,
            app.handlers,
            app=app.application,
            providers=app.providers,
            listeners=app.listeners,
            time=time,
            loops=["watcher"],
        )
        self._sweeper = Sweeper(
            database,
            settings,
            Telemetry(),
            steady=lambda: False,
        )

    async def start(self) -> None:
        await self._move(self.clock.at)
        await make_partitions(self.database, days=0)
        await self.app.declare(self.database)
        await self._leadership.setup()
        await self._leadership.tick()
        await self._scheduler.setup()
        await self._worker.start()
        await self._worker.joined()

    async def stop(self) -> None:
        await self._worker.stop(0)
        await self._scheduler.teardown()
        await self._leadership.teardown()

    @property
    def now(self) -> datetime:
        return self.clock.at

    async def advance(self, to: datetime | None = None, **duration: float) -> list[RunView]:
        """Let time pass, to an instant or by a duration (`days=7`): everything happens when it is due. The
        runs that have ended."""
        start, end = self.clock.at, to or self.clock.at + timedelta(**duration)
        await self._settle()
        while (coming := await self._next()) is not None and coming <= end:
            await self._move(coming)
            await self._settle()
        if end != self.clock.at:
            await self._move(end)
            await self._settle()
        return await self._ended(start)

    async def outage(self, **duration: float) -> list[RunView]:
        """Let time pass without any node; then everything runs again. The runs that have ended."""
        await self._move(self.clock.at + timedelta(**duration))
        return await self.drain()

    async def drain(self) -> list[RunView]:
        """Fire everything that is due now, and run it to its end. The runs that have ended."""
        await self._settle()
        return await self._ended(self.clock.at)

    async def live(self) -> list[RunView]:
        """Runs that have not ended: those that wait for a retry, and those without a handler."""
        return (await list_runs(self._context, statuses=LIVE, limit=MOST_ROWS)).items

    @property
    def _context(self) -> Context:
        return Context(self.database, now=self.clock.at)

    async def _move(self, at: datetime) -> None:
        before = self.clock.at.date()
        async with self.database.connection() as connection:
            await self.clock.move(connection, at)
        if self.clock.at.date() != before:
            await make_partitions(self.database, days=0)
        # What a worker records as start and end follows the clock, too.
        self._worker.watcher.watch()

    async def _settle(self) -> None:
        """Until nothing is left to do at this instant."""
        await self._sweeper.sweep()
        for _ in range(MOST_ROUNDS):
            fired = await self._fire()
            if not await self._work() and not fired:
                return
        raise RuntimeError(f"after {MOST_ROUNDS} rounds there is still more to run at {self.clock.at}")

    async def _next(self) -> datetime | None:
        async with self.database.connection() as connection:
            coming: datetime | None = await connection.fetchval(NEXT, self.clock.at)
        again = [self._again_at] if self._again_at is not None and self._again_at > self.clock.at else []
        return min([*again, *([coming] if coming is not None else [])], default=None)

    async def _fire(self) -> int:
        """One round of a scheduler that has just come: it reads every timer."""
        before = self._scheduler.fired + self._scheduler.caught_up.jobs
        self._scheduler._forget()
        await self._scheduler.tick()
        return self._scheduler.fired + self._scheduler.caught_up.jobs - before

    async def _work(self) -> int:
        worker = self._worker
        node = await worker.joined()
        await worker.claimer.find_lanes()
        rows = (
            await worker.queue.claim(node, worker.state.lanes, worker.state.concurrency)
            if worker.state.lanes
            else []
        )
        if worker.state.limited:
            under = await worker.queue.claim_limited(node, worker.state.limited, worker.state.concurrency)
            rows += under.rows
            if under.seconds is not None:
                self._again_at = self.clock.at + timedelta(seconds=under.seconds)
        worker.runner.take(rows, node)
        while worker.state.in_hand or worker.state.unwritten_outcomes:
            await worker.idle()
            await worker.outcome_writer.tick()
        await worker.audience.idle()
        return len(rows)

    async def _ended(self, since: datetime) -> list[RunView]:
        """Runs that ended since then, and were not told yet."""
        found: list[RunView] = []
        cursor: str | None = None
        while True:
            page = await list_runs(self._context, statuses=ENDED, cursor=cursor, limit=MOST_ROWS)
            found += [run for run in page.items if run.run_id not in self._seen]
            cursor = page.cursor
            last = page.items[-1].finished_at if page.items else None
            if cursor is None or (last is not None and last < since):
                break
        found.sort(key=lambda run: (run.scheduled_at, run.run_id or ""))
        self._seen.update(run.run_id for run in found if run.run_id)
        self.runs += found
        return found
