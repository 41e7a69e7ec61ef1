"""Tables with one partition a day: made ahead, and dropped after the retention.

There is no default partition, since PostgreSQL could not detach concurrently beside it. So a writer that
finds no partition makes it and tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta

import asyncpg

from sexton import clock
from sexton.postgres import locks
from sexton.postgres.database import Connection, Database
from sexton.printable import counted

log = logging.getLogger("sexton")

DAILY = ("history", "attempts", "run_logs")
DAYS_AHEAD = 14
LOCK_TRIES = 5


async def make_partitions(database: Database, *, now: datetime | None = None, days: int = DAYS_AHEAD) -> int:
    """Make the missing partitions for yesterday, today and the next days; returns how many.

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


async def make_missing(
    database: Database, error: asyncpg.CheckViolationError, *, now: datetime | None = None
) -> None:
    """After a write that found no partition: make the partitions around now. Raises any other error."""
    if "no partition" not in str(error):
        raise error
    await make_partitions(database, now=now, days=1)


async def drop_old_partitions(
    database: Database,
    connection: Connection,
    *,
    keep_days: int,
    now: datetime | None = None,
    drop: Callable[[str], Awaitable[None]] | None = None,
) -> list[str]:
    """Detach and drop partitions that are older than the retention; concurrently, so that no writer waits.
    `drop` drops a detached table on the connection, with everything that goes with it."""
    at = now or await connection.fetchval("select clock_timestamp()")
    oldest = at.astimezone(UTC).date() - timedelta(days=keep_days)
    dropped = []
    for row in await _partitions(database, connection):
        if row["day"] + timedelta(days=1) > oldest:
            continue
        parent, name = f"{database.schema}.{row['parent']}", f"{database.schema}.{row['name']}"

        async def remove(parent: str = parent, name: str = name, row: asyncpg.Record = row) -> int:
            change = f"alter table {parent} detach partition {name}"
            if row["detaching"]:
                await connection.execute(f"{change} finalize")
            elif not row["loose"]:
                await connection.execute(f"{change} concurrently")
            if drop is None:
                await connection.execute(f"drop table {name}")
            else:
                await drop(row["name"])
            return 1

        # Behind a pooler the timeout would stay with a backend that others use.
        if await _with_short_lock(remove, None if database.pooled else connection):
            dropped.append(row["name"])
            log.info("dropped %s: older than %s", row["name"], counted(keep_days, "day"))
    return dropped


def partition_name(parent: str, day: date) -> str:
    return f"{parent}_{day:%Y%m%d}"


async def _make(database: Database, connection: Connection, parent: str, day: date) -> int:
    schema, name = database.schema, partition_name(parent, day)
    async with connection.transaction():
        await connection.execute("set local lock_timeout = '500ms'")
        await connection.execute("select pg_advisory_xact_lock($1)", locks.MAKE_PARTITION)
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
    """Try a change of tables a few times with a short lock_timeout: other statements wait behind it."""
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
        log.warning("a change of partitions could not get its lock; it is tried again later")
        return 0
    finally:
        if connection is not None:
            await connection.execute("reset lock_timeout")


async def _partitions(database: Database, connection: Connection) -> list[asyncpg.Record]:
    return await database.fetch(
        "cluster/list_partitions", on=connection, schema=database.schema, parents=list(DAILY)
    )
