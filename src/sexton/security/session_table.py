"""Which sessions there are, as a process that serves the API knows them.

While a session is used, a process reads it at most once a second; so every process refuses an ended session
within two seconds. The seal reveals a made-up token, which costs the database nothing.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from sexton import clock
from sexton.config import Settings
from sexton.errors import Conflict
from sexton.postgres.database import Database
from sexton.security.keys import read_pepper
from sexton.security.principal import Principal
from sexton.security.sessions import SESSION, Method, decoded
from sexton.security.token import derive, is_token, token_hash

log = logging.getLogger("sexton.api")

FRESH_SECONDS = 1.0
NOTE_SECONDS = 60.0
MOST = 10_000


@dataclass(frozen=True, slots=True)
class KnownSession:
    principal: Principal
    method: Method
    csrf_token: str
    user_id: int | None
    created_at: datetime
    used_at: datetime
    expires_at: datetime


class SessionTable:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._idle_seconds = settings.session_idle_seconds
        self._source = settings.secret_key
        self._pepper = b""
        #: By hash: what was found, and when.
        self._found: OrderedDict[bytes, tuple[KnownSession | None, float]] = OrderedDict()

    async def pepper(self) -> bytes:
        """The key of the cluster's hashes and seals."""
        if not self._pepper:
            self._pepper = await read_pepper(self._database, self._source)
        return self._pepper

    async def find(self, token: str) -> KnownSession | None:
        """The session of a cookie; None if there is none, or it has ended. Raises `Unavailable` if the
        database is away."""
        try:
            pepper = await self.pepper()
        except Conflict as error:
            log.error("%s", error)
            return None
        if not is_token(token, SESSION, pepper):
            return None
        hash_ = token_hash(token, SESSION, pepper)
        known, asked_at = self._found.get(hash_, (None, float("-inf")))
        if clock.monotonic() - asked_at < FRESH_SECONDS:
            return known
        asked_at = clock.monotonic()
        known = await self._read(hash_, token)
        self._found[hash_] = known, asked_at
        self._found.move_to_end(hash_)
        if len(self._found) > MOST:
            self._found.popitem(last=False)
        return known

    def forget(self) -> None:
        """Sessions were changed here: look again before the next answer."""
        self._found.clear()

    async def _read(self, hash_: bytes, token: str) -> KnownSession | None:
        row = await self._database.fetchrow(
            "access/read_session", hash=hash_, idle_seconds=self._idle_seconds, now=None
        )
        if row is None:
            return None
        used_at = row["used_at"]
        if clock.now() - used_at > timedelta(seconds=NOTE_SECONDS):
            noted = await self._database.fetchval("access/note_session", session_id=row["id"], now=None)
            used_at = noted or used_at
        principal = Principal(
            row["name"],
            decoded(row["grants"]),
            row["key_id"],
            row["credential"],
            row["id"],
            "console",
            row["rate"],
        )
        return KnownSession(
            principal,
            row["method"],
            derive(token, "csrf", self._pepper),
            row["user_id"],
            row["created_at"],
            used_at,
            row["expires_at"],
        )
