"""A streaming replica: for lists, history and counts, never for statements that claim or fence.

Once a second Sexton measures its lag: 0 if it has replayed everything that the primary had written by then,
else the age of the last transaction that it has replayed. (Sexton itself writes every second, so that age is
exact enough.) While the replica cannot be reached, or is no replica, readers use the primary.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import asyncpg

from sexton import clock
from sexton.errors import Unavailable
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

LOOK_SECONDS = 1.0
# After a failure nothing reads the replica for a while: every try costs time of a caller.
AWAY_SECONDS = 5.0
# How long a reader waits for the replica before it reads the primary.
PATIENCE_SECONDS = 2.0

# Errors of a replica for readers of rows that the primary has removed meanwhile.
CONFLICTS = (asyncpg.SerializationError, asyncpg.QueryCanceledError)


@dataclass(frozen=True, slots=True)
class Reading:
    """A replica that answers, and its lag in seconds."""

    database: Database
    lag_seconds: float


class Replica:
    """Connects when it is first needed."""

    def __init__(self, url: str, primary: Database) -> None:
        self._url = url
        self._primary = primary
        self._database: Database | None = None
        self._reading: Reading | None = None
        self._look_at = 0.0
        self._looking = asyncio.Lock()
        self._away: str | None = None
        #: Questions to the primary, with those that are given up and not over yet.
        self._asking: set[asyncio.Task[str | None]] = set()

    async def reading(self) -> Reading | None:
        """Where to read; None: from the primary. Only one caller measures; the others use the last result."""
        if self._looking.locked() and self._look_at:
            return self._reading
        async with self._looking:
            if clock.monotonic() >= self._look_at:
                self._reading = await self._look()
                self._look_at = clock.monotonic() + (LOOK_SECONDS if self._reading else AWAY_SECONDS)
        return self._reading

    def failed(self, error: Exception) -> None:
        """A reader could not read there: use the primary for a while."""
        if not isinstance(error, CONFLICTS):
            self._say_away(str(error))
            self._reading, self._look_at = None, clock.monotonic() + AWAY_SECONDS

    async def close(self) -> None:
        if self._database is not None:
            await self._database.close()
            self._database = None

    async def _look(self) -> Reading | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                if self._database is None:
                    self._database = await Database.open(
                        self._url,
                        schema=self._primary.schema,
                        timeout=self._primary.timeout,
                        name="sexton replica",
                        settings={"default_transaction_read_only": "on"},
                        primary=False,
                    )
                lag: float | None = await self._database.fetchval(
                    "cluster/measure_replica_lag", written=await self._written()
                )
        except (Unavailable, TimeoutError, asyncpg.PostgresError) as error:
            self._say_away(str(error) or "no answer in time")
            return None
        if lag is None:
            self._say_away("replica_url is not the address of a replica")
            return None
        if self._away is not None:
            log.warning("the replica is back: lists are read there again")
            self._away = None
        return Reading(self._database, lag)

    async def _written(self) -> str | None:
        """How far the primary has written; None if the primary is away: then it helps to read the replica."""
        asking = asyncio.create_task(self._ask_primary())
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        # A machine that is gone does not answer, and a connection to it is given back only after a while. Do
        # not wait for that: the rest of the time is for the replica.
        try:
            done, _ = await asyncio.wait([asking], timeout=PATIENCE_SECONDS / 2)
        finally:
            asking.cancel()
        return asking.result() if done else None

    async def _ask_primary(self) -> str | None:
        try:
            async with self._primary.connection() as connection:
                written: str = await connection.fetchval("select pg_current_wal_lsn()::text")
        except (Unavailable, TimeoutError):
            return None
        return written

    def _say_away(self, why: str) -> None:
        if self._away is None:
            log.warning("the replica cannot be read, the primary is read instead: %s", why)
        self._away = why
