"""Which keys and namespaces there are, as a process that serves the API knows them.

They are few, and stay in memory: a request costs no statement, and a made-up key costs the database nothing.
Every change raises a number in a row, in the same transaction. At most once a second a request compares that
number, and reads everything again if it has changed. So every process refuses a revoked key within two
seconds.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime

from sexton import clock
from sexton.errors import Conflict
from sexton.postgres.database import Database
from sexton.security.keys import hash_of, read_pepper, well_formed
from sexton.security.principal import Principal
from sexton.security.role import Role

log = logging.getLogger("sexton.api")

FRESH_SECONDS = 1.0
# A key or a namespace that is not known may have been made a moment ago, by another process.
FRESH_FOR_UNKNOWN_SECONDS = 0.05
# How often the database is told which keys were used.
NOTE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KnownKey:
    principal: Principal
    expires_at: datetime | None


class AccessTable:
    """Ask `find` and `namespaces` after `refresh`."""

    def __init__(self, database: Database, source: str | None = None) -> None:
        """`source` is the key for secrets."""
        self._database = database
        self._source = source
        self._pepper = b""
        self._version: int | None = None
        self._asked_at = float("-inf")
        self._keys: dict[bytes, KnownKey] = {}
        self._refreshing = asyncio.Lock()
        #: How often something was changed here: what is being read meanwhile may lack it.
        self._changes = 0
        self._used: dict[int, datetime] = {}
        self._noted_at = float("-inf")
        self.namespaces: frozenset[str] = frozenset()

    async def refresh(self, seconds: float = FRESH_SECONDS) -> None:
        """Read again what is older than this. Raises `Unavailable` if the database is away."""
        if clock.monotonic() - self._asked_at < seconds:
            return
        async with self._refreshing:
            asked_at, changes = clock.monotonic(), self._changes
            if asked_at - self._asked_at < seconds:
                return
            version = await self._database.fetchval("access/read_version")
            if version != self._version:
                await self._read()
                self._version = version
            await self._note()
            if changes == self._changes:
                self._asked_at = asked_at

    def forget(self) -> None:
        """Something was changed here: look again before the next answer."""
        self._asked_at = float("-inf")
        self._changes += 1

    def find(self, text: str) -> Principal | None:
        """The holder of this key; None if there is no such key, or it has ended or was revoked."""
        if not well_formed(text):
            return None
        known = self._keys.get(hash_of(text, self._pepper))
        now = clock.now()
        if known is None or (known.expires_at is not None and known.expires_at <= now):
            return None
        if known.principal.key_id is not None:
            self._used[known.principal.key_id] = now
        return known.principal

    async def _read(self) -> None:
        if not self._pepper:
            try:
                self._pepper = await read_pepper(self._database, self._source)
            except Conflict as error:
                # Keys of the configuration still work, and so does the user who runs the server.
                log.error("%s", error)
        rows = await self._database.fetch("access/read_access")
        self.namespaces = frozenset(row["namespace"] for row in rows if row["id"] is None)
        self._keys = {
            row["hash"]: KnownKey(
                Principal(
                    f"key:{row['name']}",
                    {row["namespace"]: Role(row["role"])},
                    row["id"],
                    credential=f"key:{row['id']}",
                    rate=row["rate"],
                ),
                row["expires_at"],
            )
            for row in rows
            if row["id"] is not None and self._pepper
        }

    async def _note(self) -> None:
        if self._used and clock.monotonic() - self._noted_at >= NOTE_SECONDS:
            used, self._used = self._used, {}
            self._noted_at = clock.monotonic()
            await self._database.execute("access/note_use", ids=list(used), times=list(used.values()))
