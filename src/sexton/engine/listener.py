"""Notifications: one connection that listens, and reconnects by itself.

Notifications only save time. A pooler in transaction mode drops them without an error, so everything that
listens also polls; `alive` says whether polling is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import asyncpg

from sexton.engine.loop import Loop
from sexton.postgres.database import Database, unavailable
from sexton.postgres.servers import LOST, require_writable

log = logging.getLogger("sexton")


class Listener(Loop):
    """Calls the handler of a channel with the payload of every notification, and with an empty payload after
    it has connected, since earlier notifications are lost."""

    name = "listener"

    def __init__(self, database: Database, channels: Mapping[str, Callable[[str], None]]) -> None:
        super().__init__()
        self._database = database
        self._channels = channels
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    @property
    def alive(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    async def tick(self) -> float:
        """Connect if necessary, and check that the connection answers and leads to the primary: only that one
        notifies."""
        if self._database.pooled:
            return 60.0  # a pooler drops notifications: what listens also polls
        try:
            if not self.alive:
                self._connection = await self._database.connect(
                    "sexton listener", timeout=10, command_timeout=10
                )
                for channel in self._channels:
                    await self._connection.add_listener(channel, self._received)
                for handle in self._channels.values():
                    handle("")
            assert self._connection is not None
            await require_writable(self._connection)
        except LOST as error:
            await self.teardown()
            raise unavailable(error) from error
        return 10.0

    async def teardown(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def _received(self, _connection: Any, _pid: int, channel: str, payload: object) -> None:
        self._channels[channel](str(payload))
