"""Notifications: one connection that listens, and comes back by itself.

Notifications only make things quicker. Behind a pooler in transaction mode they are lost without an error, so
everything that listens also polls; `alive` says which of the two is needed.
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
    """Calls the handler of a channel with the payload of every notification; with an empty one after it has
    connected, for what was notified before is not known."""

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
        """Connect if need be, and see that the connection still answers, and leads to the primary: no other
        server is notified."""
        if self._database.pooled:
            return 60.0  # notifications are lost on their way: what listens also polls
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
