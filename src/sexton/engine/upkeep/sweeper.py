"""Takes back the runs of dead workers and ends what waits in vain. Every scheduler runs it: sweeping twice is
harmless."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

import asyncpg

from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.errors import Unavailable
from sexton.postgres.database import LOCALLY_BY_KEY, Database
from sexton.postgres.partitions import make_missing
from sexton.runs import completion as report

log = logging.getLogger("sexton")

BATCH = 5000


class Sweeper(Loop):
    """Runs of dead workers, and runs that wait in vain. `steady` says whether this process may judge
    others: its own lease was renewed without a gap for a whole lease."""

    name = "sweeper"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        telemetry: Telemetry,
        *,
        steady: Callable[[], bool],
        resume: Callable[[], Awaitable[object]] | None = None,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._telemetry = telemetry
        self._steady = steady
        self._resume = resume
        self._now = now
        self._sweeps = 0

    async def tick(self) -> float:
        """Some of it is swept more rarely, for nothing waits for it: every attempt looks at the expiry of its
        run first, and orphans are rare."""
        sweeps = self._sweeps
        if await self.sweep(expiry=sweeps % 8 == 0, orphans=sweeps % 4 == 0, pauses=sweeps % 2 == 0):
            return 0
        self._sweeps += 1
        return self._settings.sweep_seconds

    async def sweep(self, *, expiry: bool = True, orphans: bool = True, pauses: bool = True) -> bool:
        """One sweep; whether there may be more."""
        now = self._now()
        [there] = await self._database.fetch("sweepable", now)
        lapsed = there["lapsed"] and self._steady()
        if lapsed:
            for row in await self._database.fetch("declare_dead", now):
                log.warning("the worker %s has not renewed its lease: its runs are taken back", row["name"])
        full = False
        if lapsed or there["fallen"]:
            full |= await reap(self._database, self._telemetry, now=now)
        if there["overdue"]:
            full |= await end_overdue(self._database, self._telemetry, now=now)
        if there["overlapped"]:
            await self._database.fetch("stop_overlapped", now)
        if expiry:
            full |= await expire(self._database, self._telemetry, now=now)
        if orphans:
            # A firing may just have taken the place: then there is no orphan.
            with contextlib.suppress(asyncpg.UniqueViolationError):
                await self._database.fetch("recording/promote_orphans", now=now)
            [row] = await self._database.fetch("mend_shards")
            if row["mended"]:
                log.warning("%d timers were in shards that nobody leads; they are put right", row["mended"])
        if pauses and self._resume is not None:
            await self._resume()
        return full


async def reap(database: Database, telemetry: Telemetry, *, now: datetime | None = None) -> bool:
    """Take back the runs of dead workers; whether there may be more."""
    row = await _recording(database, "recording/reap", now)
    telemetry.reaped_back.inc(row["back"])
    telemetry.reaped_poison.inc(row["poison"])
    telemetry.reaped_cancelled.inc(row["cancelled"])
    return bool(row["back"] + row["poison"] + row["cancelled"] == BATCH)


async def end_overdue(database: Database, telemetry: Telemetry, *, now: datetime | None = None) -> bool:
    """End the attempts that nobody has reported of in time; whether there may be more."""
    fates = await report.end_overdue(database, BATCH, now=now)
    telemetry.count_failures("timeout" for fate in fates if fate == "failed")
    telemetry.count_ends(fate for fate in fates if fate != "failed")
    return len(fates) >= BATCH


async def expire(database: Database, telemetry: Telemetry, *, now: datetime | None = None) -> bool:
    """End the runs that have waited too long, or that were cancelled while they waited."""
    row = await _recording(database, "recording/expire", now, by_key=True)
    telemetry.expired.inc(row[0])
    return bool(row[0] >= BATCH)


async def _recording(
    database: Database, name: str, now: datetime | None, *, by_key: bool = False
) -> asyncpg.Record:
    """A statement that writes to history: if the day's partition is missing, it is made first."""
    try:
        row = await _fetchrow(database, name, now, by_key=by_key)
    except asyncpg.CheckViolationError as error:
        await make_missing(database, error, now=now)
        row = await _fetchrow(database, name, now, by_key=by_key)
    if row is None:
        raise Unavailable("no_answer", f"the statement {name} gave no answer")
    return row


async def _fetchrow(
    database: Database, name: str, now: datetime | None, *, by_key: bool
) -> asyncpg.Record | None:
    """`by_key`: by indexes, also right after a million runs came into an empty table."""
    if not by_key:
        return await database.fetchrow(name, now=now, limit=BATCH)
    async with database.transaction() as connection:
        await connection.execute(LOCALLY_BY_KEY)
        return await database.fetchrow(name, on=connection, now=now, limit=BATCH)
