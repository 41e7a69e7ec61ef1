"""What has to be done now and then: taking back the runs of dead workers, ending what waits in vain,
partitions, retention, and what people do not need any longer.

Every process may run it. Reaping is safe to do twice; the rest is done by whoever gets the advisory lock.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta

import asyncpg

from sexton import clock
from sexton.config import Settings
from sexton.errors import Unavailable
from sexton.loop import Loop
from sexton.postgres.database import BY_KEY, Connection, Database
from sexton.problems import forget_solved
from sexton.telemetry import Telemetry

log = logging.getLogger("sexton")

DAILY = ("history", "attempts", "run_logs")
DAYS_AHEAD = 14
LOCK = 7_390_002
BATCH = 5000
HOUSEKEEPING_SECONDS = 600.0
LOCK_TRIES = 5
LOCALLY_BY_KEY = ";".join(f"set local {setting} = {value}" for setting, value in BY_KEY.items())


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
        if self._steady():
            for row in await self._database.fetch("declare_dead", now):
                log.warning("the worker %s has not renewed its lease: its runs are taken back", row["name"])
        full = await reap(self._database, self._telemetry, now=now)
        if expiry:
            full |= await expire(self._database, self._telemetry, now=now)
        if orphans:
            # A firing may just have taken the place: then there is no orphan.
            with contextlib.suppress(asyncpg.UniqueViolationError):
                await self._database.fetch("promote_orphans", now)
        if pauses and self._resume is not None:
            await self._resume()
        return full


async def reap(database: Database, telemetry: Telemetry, *, now: datetime | None = None) -> bool:
    """Take back the runs of dead workers; whether there may be more."""
    row = await _recording(database, now, "reap", now, BATCH)
    telemetry.reaped_back.inc(row["back"])
    telemetry.reaped_poison.inc(row["poison"])
    telemetry.reaped_cancelled.inc(row["cancelled"])
    return bool(row["back"] + row["poison"] + row["cancelled"] == BATCH)


async def expire(database: Database, telemetry: Telemetry, *, now: datetime | None = None) -> bool:
    """End the runs that have waited too long, or that were cancelled while they waited."""
    row = await _recording(database, now, "expire", now, BATCH, by_key=True)
    telemetry.expired.inc(row[0])
    return bool(row[0] >= BATCH)


class Housekeeper(Loop):
    """Partitions, retention, and what is not needed any longer."""

    name = "housekeeper"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._now = now

    async def tick(self) -> float:
        now = self._now()
        await make_partitions(self._database, now=now)
        async with self._database.connection() as connection:
            if not await connection.fetchval("select pg_try_advisory_lock($1)", LOCK):
                return HOUSEKEEPING_SECONDS
            try:
                await self._clean(connection, now)
            finally:
                await connection.execute("select pg_advisory_unlock($1)", LOCK)
        return HOUSEKEEPING_SECONDS

    async def _clean(self, connection: Connection, now: datetime | None) -> None:
        await drop_old_partitions(
            self._database, connection, keep_days=self._settings.retention_days, now=now
        )
        while await self._remove_completed(connection, now) >= BATCH:
            pass
        await connection.execute(self._database.statement("remove_requests"), now)
        await forget_solved(self._database, connection, now=now)
        await connection.execute(self._database.statement("remove_nodes"), now)

    async def _remove_completed(self, connection: Connection, now: datetime | None) -> int:
        async with connection.transaction():
            await connection.execute(LOCALLY_BY_KEY)
            removed: int = await connection.fetchval(
                self._database.statement("remove_completed"), now, BATCH, self._settings.retention_days
            )
        return removed


async def make_partitions(database: Database, *, now: datetime | None = None, days: int = DAYS_AHEAD) -> int:
    """Have a partition for yesterday, today and the days to come; how many were made.

    ATTACH takes a lock that writers do not notice, unlike CREATE TABLE … PARTITION OF.
    """
    made = 0
    async with database.connection() as connection:
        at = now or await connection.fetchval("select clock_timestamp()")
        today = at.astimezone(UTC).date()
        there = {row["name"] for row in await _partitions(database, connection)}
        for offset in range(-1, days + 1):
            day = today + timedelta(days=offset)
            for parent in DAILY:
                if partition_name(parent, day) not in there:
                    made += await _with_short_lock(
                        lambda parent=parent, day=day: _make(database, connection, parent, day)  # type: ignore[misc]
                    )
    return made


async def drop_old_partitions(
    database: Database, connection: Connection, *, keep_days: int, now: datetime | None = None
) -> list[str]:
    """Detach and drop what is older than the retention; concurrently, so that nobody waits."""
    at = now or await connection.fetchval("select clock_timestamp()")
    oldest = at.astimezone(UTC).date() - timedelta(days=keep_days)
    dropped = []
    for row in await _partitions(database, connection):
        if row["day"] + timedelta(days=1) > oldest:
            continue
        parent, name = f"{database.schema}.{row['parent']}", f"{database.schema}.{row['name']}"

        async def detach(parent: str = parent, name: str = name, row: asyncpg.Record = row) -> int:
            change = f"alter table {parent} detach partition {name}"
            if row["detaching"]:
                await connection.execute(f"{change} finalize")
            elif not row["loose"]:
                await connection.execute(f"{change} concurrently")
            await connection.execute(f"drop table {name}")
            return 1

        if await _with_short_lock(detach, connection):
            dropped.append(row["name"])
            log.info("dropped %s: older than %d days", row["name"], keep_days)
    return dropped


def partition_name(parent: str, day: date) -> str:
    return f"{parent}_{day:%Y%m%d}"


async def _make(database: Database, connection: Connection, parent: str, day: date) -> int:
    schema, name = database.schema, partition_name(parent, day)
    async with connection.transaction():
        await connection.execute("set local lock_timeout = '500ms'")
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK + 1)
        if await connection.fetchval("select to_regclass($1)", f"{schema}.{name}"):
            return 0
        await connection.execute(
            f"create table {schema}.{name} (like {schema}.{parent} including defaults including constraints)"
        )
        await connection.execute(
            f"alter table {schema}.{parent} attach partition {schema}.{name} "
            f"for values from ('{day} 00:00+00') to ('{day + timedelta(days=1)} 00:00+00')"
        )
    return 1


async def _with_short_lock(change: Callable[[], Awaitable[int]], connection: Connection | None = None) -> int:
    """Try a change of tables a few times with a short lock_timeout: waiting for long would make others
    wait."""
    if connection is not None:
        await connection.execute("set lock_timeout = '500ms'")
    try:
        for attempt in range(LOCK_TRIES):
            try:
                return await change()
            except asyncpg.LockNotAvailableError:
                await clock.sleep(0.05 * 2**attempt)
            except asyncpg.ObjectNotInPrerequisiteStateError:
                # A try was cut off between the two halves of detaching; the next round finishes it.
                return 0
            except asyncpg.DuplicateTableError:
                return 0
        log.warning("a change of partitions found no free moment; it is tried again later")
        return 0
    finally:
        if connection is not None:
            await connection.execute("reset lock_timeout")


async def _partitions(database: Database, connection: Connection) -> list[asyncpg.Record]:
    return await connection.fetch(database.statement("partition_list"), database.schema, list(DAILY))


async def _recording(
    database: Database, now: datetime | None, name: str, *arguments: object, by_key: bool = False
) -> asyncpg.Record:
    """A statement that writes to history: if the day's partition is missing, it is made first."""
    try:
        row = await _fetchrow(database, name, *arguments, by_key=by_key)
    except asyncpg.CheckViolationError:
        await make_partitions(database, now=now, days=1)
        row = await _fetchrow(database, name, *arguments, by_key=by_key)
    if row is None:
        raise Unavailable("no_answer", f"the statement {name} gave no answer")
    return row


async def _fetchrow(database: Database, name: str, *arguments: object, by_key: bool) -> asyncpg.Record | None:
    """`by_key`: by indexes, also right after a million runs came into an empty table."""
    async with database.transaction() as connection:
        if by_key:
            await connection.execute(LOCALLY_BY_KEY)
        return await connection.fetchrow(database.statement(name), *arguments)
