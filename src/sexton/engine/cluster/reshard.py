"""Changes the number of shards while everything runs.

First the leaders release their shards: a notification reaches them, or their next beat. The rest is one
transaction. An advisory lock that all writers of timers share keeps them out. Every shard gets a new epoch
and no holder, so that a leader that was stopped meanwhile is refused. Every timer moves into its new shard,
and the new number is written. Rows of shards that are not needed any more stay, since epochs never go back;
they have no leader.

Nothing fires meanwhile; due timers fire late, when the leaders are back. If the process dies, all or nothing
is done, and the leaders return when the pause has ended, or at once after a second attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from sexton import clock
from sexton.config import MOST_SHARDS
from sexton.errors import Conflict, InvalidField, Unavailable
from sexton.postgres.database import Connection, Database, unavailable
from sexton.postgres.migrate import require_migrated, shard_count
from sexton.postgres.servers import LOST
from sexton.postgres.transaction import SHARED, Context, command

# The length of the pause for leaders, and how often it is renewed.
PAUSE_SECONDS, RENEW_SECONDS = 30.0, 5.0
LOOK_SECONDS = 0.05
BATCH = 100_000
# A leader that was stopped in the middle of a firing blocks the change: its backend is ended after its lease.
LOCK_SECONDS, LOCK_TRIES = 2, 15
# The whole is one transaction; ten million timers take minutes.
LONGEST_SECONDS = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Resharded:
    """The change, and how long nothing fired."""

    before: int
    after: int
    timers: int
    moved: int
    seconds: float


async def reshard(
    context: Context, shards: int, *, progress: Callable[[str], None] = lambda text: None
) -> Resharded:
    """Change the number of shards. `progress` gets a line about each step."""
    database = context.database
    if not 1 <= shards <= MOST_SHARDS:
        raise InvalidField(
            "out_of_range", f"shards is {shards}", field="shards", hint=f"give 1 to {MOST_SHARDS}"
        )
    await require_migrated(database)
    began = clock.monotonic()
    before = await shard_count(database)
    if before == shards:
        await database.execute("cluster/end_pause")  # an attempt that was killed at its end may have left one
        return Resharded(before, shards, 0, 0, 0.0)
    progress(f"from {before} to {shards} shards: the schedulers give theirs up")
    async with _paused(database):
        before, seen, moved = await _rewrite(context, shards, progress)
    return Resharded(before, shards, seen, moved, clock.monotonic() - began)


@asynccontextmanager
async def _paused(database: Database) -> AsyncIterator[None]:
    """No scheduler leads for as long as the block runs."""
    await database.execute("cluster/pause_leaders", seconds=PAUSE_SECONDS)
    renewing = asyncio.create_task(_renew(database))
    try:
        async with database.connection() as connection:
            since = await database.time(connection)
        while await database.fetch("cluster/list_leaders_since", since=since):
            await clock.sleep(LOOK_SECONDS)
        yield
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
        await database.execute("cluster/end_pause")


async def _renew(database: Database) -> None:
    while True:
        await clock.sleep(RENEW_SECONDS)
        with contextlib.suppress(Unavailable):  # the pause is longer than one that fails
            await database.execute("cluster/pause_leaders", seconds=PAUSE_SECONDS)


@command
async def _rewrite(context: Context, shards: int, progress: Callable[[str], None]) -> tuple[int, int, int]:
    database, connection = context.database, context.open
    try:
        await connection.execute(
            database.sql("select pg_advisory_xact_lock(sexton.shards_lock())"), timeout=LONGEST_SECONDS
        )
        before = await shard_count(database, connection)
        await _take_all(database, connection, progress)
        last, seen, moved = -1, 0, 0
        while last is not None:
            text, given = database.prepared("cluster/move_shards", after=last, limit=BATCH, shards=shards)
            row = await connection.fetchrow(text, *given, timeout=LONGEST_SECONDS)
            assert row is not None
            last, seen, moved = row["last"], seen + row["seen"], moved + row["moved"]
            if row["seen"]:
                progress(f"{seen:,} timers read, {moved:,} moved")
        await database.execute("cluster/make_shards", on=connection, shards=shards)
        await database.execute("cluster/set_setting", on=connection, name="shards", value=str(shards))
    except LOST as error:
        raise unavailable(error) from error
    context.changed(
        "shards.changed",
        before={"shards": before},
        after={"shards": shards},
        namespace=SHARED,
        detail={"timers": seen, "moved": moved},
    )
    return before, seen, moved


async def _take_all(database: Database, connection: Connection, progress: Callable[[str], None]) -> None:
    for _ in range(LOCK_TRIES):
        try:
            async with connection.transaction():
                await connection.execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
                await database.execute("cluster/bump_epochs", on=connection)
                await connection.execute("set local lock_timeout = default")
            return
        except asyncpg.LockNotAvailableError:
            progress("a firing is still open; waiting for it")
            for row in await database.fetch("cluster/end_stopped_leaders", on=connection):
                progress(f"{row['name']} was stopped in the middle of one: its backend is ended")
    raise Conflict(
        "shards_busy",
        "a firing stays open, so the shards cannot be taken",
        hint="see what holds locks: select * from pg_stat_activity where state like 'idle in transaction%'",
    )
