"""A streaming replica: lists, history and counts may be read there, never anything that claims or fences.

How far it is behind is looked at once a second: nothing if it has replayed all that the primary had written
by then, else the age of the last transaction that it has replayed. (Sexton itself writes every second, so
that age tells.) While the replica cannot be reached or is none, the primary is read.
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
# After it could not be reached, it is left alone for a while: every try costs a caller's time.
AWAY_SECONDS = 5.0
# How long a reader may wait for it before the primary is read.
PATIENCE_SECONDS = 2.0

# What a replica does to readers of rows that the primary has removed meanwhile.
CONFLICTS = (asyncpg.SerializationError, asyncpg.QueryCanceledError)


@dataclass(frozen=True, slots=True)
class Reading:
    """A replica that answers, and how far it is behind, in seconds."""

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

    async def reading(self) -> Reading | None:
        """Where to read; None: from the primary. Only one looks; the others go by what was seen last."""
        if self._looking.locked() and self._look_at:
            return self._reading
        async with self._looking:
            if clock.monotonic() >= self._look_at:
                self._reading = await self._look()
                self._look_at = clock.monotonic() + (LOOK_SECONDS if self._reading else AWAY_SECONDS)
        return self._reading

    def failed(self, error: Exception) -> None:
        """A reader could not read there: leave it alone for a while."""
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
                written = await self._written()
                lag = await self._lag(self._database, written)
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
        """How far the primary has written; None if it cannot be asked: then reading the replica is all the
        better."""
        try:
            async with self._primary.connection() as connection:
                written: str = await connection.fetchval("select pg_current_wal_lsn()::text")
        except Unavailable:
            return None
        return written

    async def _lag(self, database: Database, written: str | None) -> float | None:
        lag: float | None = await database.fetchval("cluster/measure_replica_lag", written=written)
        return lag

    def _say_away(self, why: str) -> None:
        if self._away is None:
            log.warning("the replica cannot be read, the primary is read instead: %s", why)
        self._away = why
