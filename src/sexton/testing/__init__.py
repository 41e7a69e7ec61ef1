"""Test what an application does in a week, in a moment.

    async with engine(app, at=datetime(2026, 6, 1, tzinfo=UTC)) as test:
        await test.advance(days=7)
        assert [run.status for run in test.runs] == ["success"]

Scheduler, worker, statements and PostgreSQL are the real ones; only the clock is manual, and rounds are made
one by one. As long as only plain occurrences are due, they are carried out one by one and written together
(`ahead`), with the same result. The application's own database is not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from sexton.app import Sexton
from sexton.config import Settings
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.cluster.membership import Membership
from sexton.engine.scheduler.scheduler import Scheduler
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.engine.worker.worker import Worker
from sexton.postgres.database import Database
from sexton.postgres.page import MOST_ROWS
from sexton.postgres.partitions import DAILY
from sexton.runs.filter import ENDED, LIVE, RunFilter
from sexton.runs.read import list_runs
from sexton.runs.view import RunView
from sexton.testing.ahead import Ahead
from sexton.testing.manual import ManualClock
from sexton.testing.scratch import scratch_database, scratch_server
from sexton.testing.watch import Watch, WatchedDatabase, WatchedQueue

MOST_ROUNDS = 200
INSTANT = timedelta(microseconds=1)
AnyDatabase = TypeVar("AnyDatabase", bound=Database)

# Nothing happens in the background: leases outlast any test, and all timers are within the horizon.
STILL = {
    "lease_seconds": 1e6,
    "renew_seconds": 1e5,
    "worker_lease_seconds": 1e6,
    "heartbeat_seconds": 1e5,
    "horizon_seconds": 3e9,
    "catch_up_rate": 1e12,
    "queues": "*",
    "namespaces": "*",
    "elector": "postgres",
    "queue_url": "postgres",
    "schema": "sexton",
}

# One partition holds all days. Runs are numbered in the order of creation, whichever connection makes them.
ARRANGE = (
    *(f"create table sexton.{table}_always partition of sexton.{table} default" for table in DAILY),
    "alter sequence sexton.run_ids cache 1",
)


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

        watch = Watch()

        @asynccontextmanager
        async def opening(patient: bool) -> AsyncIterator[Database]:
            async with _opened(WatchedDatabase, url, settings) as database:
                database.watch = watch
                yield database

        # The synchronous client may hold a connection to the application's own database.
        await asyncio.to_thread(app.sync.close)
        stack.enter_context(app._rehearsing(settings, opening, lambda: time.at))
        stack.push_async_callback(asyncio.to_thread, app.sync.close)
        watched = await stack.enter_async_context(app.connected())
        database = await stack.enter_async_context(_opened(Database, url, settings))
        test = Engine(app, watched, database, time, watch)
        await test.start()
        stack.push_async_callback(test.stop)
        yield test


@dataclass(frozen=True, slots=True)
class _Survey:
    """The work at this instant, and the time of the next event: the columns of testing/survey."""

    timers: bool
    runs: bool
    sweep: bool
    timer_at: datetime | None
    other_at: datetime | None

    @property
    def quiet(self) -> bool:
        """Nothing is left to do at this instant."""
        return not (self.timers or self.runs or self.sweep)


class Engine:
    """An application under test: move its time, and look at its runs."""

    def __init__(
        self, app: Sexton, watched: Database, database: Database, time: ManualClock, watch: Watch
    ) -> None:
        settings: Settings = app.settings
        self.app = app
        #: The database, for statements of your own: see `docs/testing.md`.
        self.database: Database = watched
        self.clock = time
        #: Every run that has ended so far, as a `RunView`.
        self.runs: list[RunView] = []
        self._own = database  # the same, for the engine itself
        self._watch = watch
        self._seen: set[str] = set()
        self._again_at: datetime | None = None  # when a rate limit lets something go
        membership = Membership(roles=["scheduler"], lease_seconds=settings.lease_seconds, time=time)
        self._leadership = Leadership(database, settings, membership)
        self._scheduler = Scheduler(database, settings, self._leadership)
        self._worker = Worker(
            watched,
            settings,
            app.handlers,
            app=app._application,
            providers=app._providers,
            listeners=app._listeners,
            queue=WatchedQueue(database, watch),
            time=time,
            loops=["watcher"],
        )
        self._ahead = Ahead(database, self._worker, time, watch)
        self._sweeper = Sweeper(
            database,
            settings,
            Telemetry(),
            steady=lambda: False,
        )

    async def start(self) -> None:
        async with self._own.connection() as connection:
            for statement in ARRANGE:
                await connection.execute(statement)
        await self._move(self.clock.at)
        await self.app._declare(self.database)
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
        """The manual time."""
        return self.clock.at

    async def advance(self, to: datetime | None = None, **duration: float) -> list[RunView]:
        """Let time pass, to an instant or by a duration (`days=7`): everything happens when it is due.
        Returns the runs that have ended."""
        start, end = self.clock.at, to or self.clock.at + timedelta(**duration)
        survey = await self._settle()
        while (coming := self._coming(survey)) is not None and coming <= end:
            if survey.quiet and await self._run_ahead(survey, end):
                await self._record()
            elif not self._watch.looked:
                await self._move(coming)
            survey = await self._settle()
        if end != self.clock.at:
            await self._move(end)
            await self._settle()
        return await self._ended(start)

    async def outage(self, **duration: float) -> list[RunView]:
        """Let time pass without any node, then start the nodes again. Returns the runs that have ended."""
        await self._move(self.clock.at + timedelta(**duration))
        return await self.drain()

    async def drain(self) -> list[RunView]:
        """Fire everything that is due now, and run it to its end. Returns the runs that have ended."""
        await self._settle()
        return await self._ended(self.clock.at)

    async def live(self) -> list[RunView]:
        """Runs that have not ended: those that wait for a retry, and those without a handler."""
        context = replace(self.app._context(self.database), now=self.clock.at)
        return (await list_runs(context, RunFilter(statuses=LIVE), limit=MOST_ROWS)).items

    async def _move(self, at: datetime) -> None:
        self.clock.set(at)
        async with self._own.connection() as connection:
            await self.clock.write(connection)
        # The times that a worker records follow the clock, too.
        self._worker.watcher.watch()

    async def _settle(self) -> _Survey:
        """Work until nothing is left to do at this instant."""
        swept = False
        for _ in range(MOST_ROUNDS):
            if self._watch.forget():
                await self._worker.claimer.find_lanes()
            survey = await self._survey()
            if survey.quiet:
                return survey
            busy = survey.sweep and not swept
            if busy:
                await self._sweeper.sweep()
                swept = True
            fired = survey.timers and await self._fire()
            if not (await self._work() or fired or busy):
                return survey
        raise RuntimeError(
            f"after {MOST_ROUNDS} rounds more is due at {self.clock.at}: does a run make new runs?"
        )

    async def _survey(self) -> _Survey:
        state = self._worker.state
        row = await self._own.fetchrow("testing/survey", lanes=[*state.lanes, *state.limited])
        assert row is not None
        return _Survey(*row)

    def _coming(self, survey: _Survey) -> datetime | None:
        """The time of the next event."""
        others = [survey.timer_at, survey.other_at]
        if self._again_at is not None and self._again_at > self.clock.at:
            others.append(self._again_at)
        return min((at for at in others if at is not None), default=None)

    async def _run_ahead(self, survey: _Survey, end: datetime) -> bool:
        """Go through plain occurrences and write them together; whether there were any."""
        before = end + INSTANT if survey.other_at is None else min(survey.other_at, end + INSTANT)
        return await self._ahead.run(before, list(self._leadership.led))

    async def _fire(self) -> int:
        """One round of a scheduler that has just started: it reads every timer."""
        before = self._scheduler.fired + self._scheduler.caught_up.jobs
        self._scheduler._forget()
        for _ in range(MOST_ROUNDS):
            if await self._scheduler.tick() > 0 and not self._scheduler.live_count.running:
                break  # missed occurrences are planned in a thread, which may take several rounds
            await self._scheduler.live_count.wait()
        return self._scheduler.fired + self._scheduler.caught_up.jobs - before

    async def _work(self) -> int:
        worker = self._worker
        node = await worker.joined()
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
        await self._record()
        return len(rows)

    async def _record(self) -> None:
        """Wait for the running runs, and write their outcomes."""
        worker = self._worker
        while worker.state.in_hand or worker.state.unwritten_outcomes:
            await worker.idle()
            await worker.outcome_writer.tick()
        await worker.audience.idle()

    async def _ended(self, since: datetime) -> list[RunView]:
        """Runs that ended since then and were not returned yet."""
        found: list[RunView] = []
        cursor: str | None = None
        context = replace(self.app._context(self._own), now=self.clock.at)
        while True:
            page = await list_runs(context, RunFilter(statuses=ENDED), cursor=cursor, limit=MOST_ROWS)
            found += [run for run in page.items if run.run_id not in self._seen]
            cursor = page.cursor
            last = page.items[-1].finished_at if page.items else None
            if cursor is None or (last is not None and last < since):
                break
        found.sort(key=lambda run: (run.scheduled_at, run.run_id or ""))
        self._seen.update(run.run_id for run in found if run.run_id)
        self.runs += found
        return found


@asynccontextmanager
async def _opened(kind: type[AnyDatabase], url: str, settings: Settings) -> AsyncIterator[AnyDatabase]:
    database = await kind.open(url, schema=settings.schema, timeout=settings.statement_timeout_seconds)
    try:
        yield database
    finally:
        await database.close()
