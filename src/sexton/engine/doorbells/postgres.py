"""NOTIFY as the doorbell, for a cluster without a broker."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from sexton.engine.doorbells.base import Ring
from sexton.errors import Unavailable
from sexton.postgres.database import Database, close_connection, unavailable
from sexton.postgres.servers import LOST, require_writable

CHANNELS: dict[str, Ring] = {
    "sexton_runs": "runs",
    "sexton_lanes": "lanes",
    "sexton_cancels": "cancels",
    "sexton_suspects": "suspects",
}


class PostgresDoorbell:
    """LISTEN on a connection of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._rung: Callable[[Ring], None] = lambda ring: None

    async def listen(self, rung: Callable[[Ring], None]) -> None:
        self._rung = rung
        if not self._database.pooled:
            await self._connect()

    async def check(self) -> bool:
        if self._database.pooled:
            return False  # a pooler drops notifications; polling finds the runs
        if await self._hears():
            return True
        try:
            await self._connect()
        except Unavailable:
            return False
        # Rings may have been lost meanwhile.
        self._rung("lanes")
        self._rung("runs")
        return True

    async def _hears(self) -> bool:
        """Whether the connection is open, and leads to the primary: only that one notifies."""
        if self._connection is None or self._connection.is_closed():
            return False
        try:
            await require_writable(self._connection)
        except (*LOST, asyncpg.PostgresError):
            return False
        return True

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await close_connection(connection)

    async def _connect(self) -> None:
        await self.close()
        try:
            connection = await self._database.connect(
                "sexton doorbell", timeout=10, command_timeout=self._database.timeout
            )
            for channel in CHANNELS:
                await connection.add_listener(channel, self._hear)
        except (*LOST, asyncpg.PostgresError) as error:
            raise unavailable(error) from error
        self._connection = connection

    def _hear(self, connection: object, pid: int, channel: str, payload: object) -> None:
        self._rung(CHANNELS[channel])
