"""The membership of a process that only serves the api: other nodes see it, but none waits for its lease."""

from __future__ import annotations

import logging

from sexton.config import Settings
from sexton.engine.cluster.membership import Membership
from sexton.engine.loop import Loop
from sexton.errors import Unavailable
from sexton.postgres.database import Database

log = logging.getLogger("sexton")


class Presence(Loop):
    """Keeps this process among the nodes."""

    name = "presence"

    def __init__(self, database: Database, settings: Settings, membership: Membership) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._membership = membership

    async def tick(self) -> float:
        membership = self._membership
        if membership.node is None or await membership.renew(self._database) is None:
            await membership.join(self._database)
        return self._settings.heartbeat_seconds

    async def teardown(self) -> None:
        try:
            await self._membership.leave(self._database)
        except Unavailable as error:
            log.warning(
                "presence: could not record that it leaves: %s; its lease expires by itself", error.message
            )
