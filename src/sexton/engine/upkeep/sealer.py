"""Seals the audit: a committed entry becomes a row of its chain within about a second (`audit_chain`).

Only the leader of the first shard seals. If two schedulers believe that they lead it, they take turns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sexton import clock
from sexton.engine.loop import Loop
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.audit_chain import BATCH, Link, read_head, seal

log = logging.getLogger("sexton")

SEAL_SECONDS = 1.0
# How often to log the end of the chain: logs are often kept outside the reach of the database.
TELL_SECONDS = 3600.0


class Sealer(Loop):
    name = "sealer"

    def __init__(self, database: Database, *, leading: Callable[[], bool]) -> None:
        super().__init__()
        self._database = database
        self._leading = leading
        self._tell_at = 0.0

    async def tick(self) -> float:
        if not self._leading() or not await self._database.fetchval("audit/is_pending"):
            return SEAL_SECONDS
        context = Context(self._database)
        if await seal(context, BATCH) == BATCH:
            return 0
        if clock.monotonic() >= self._tell_at:
            self._tell_at = clock.monotonic() + TELL_SECONDS
            head = await read_head(context)
            log.info("the audit ends with %s", Link(head["sequence"], head["hash"]))
        return SEAL_SECONDS
