"""NOTIFY as the doorbell: what a cluster without a broker uses."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from sexton.engine.doorbells.base import Ring
from sexton.errors import Unavailable
from sexton.postgres.database import LOST, Database, close_connection, unavailable

CHANNELS: dict[str, Ring] = {"sexton_runs": "runs", "sexton_lanes": "lanes", "sexton_cancels": "cancels"}


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
            return False  # notifications are lost on their way; polling finds what waits
        if self._connection is not None and not self._connection.is_closed():
            return True
        try:
            await self._connect()
        except Unavailable:
            return False
        # What rang meanwhile was not heard.
        self._rung("lanes")
        self._rung("runs")
        return True

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await close_connection(connection)

    async def _connect(self) -> None:
        await self.close()
        try:
            connection = await asyncpg.connect(
                self._database.url,
                timeout=10,
                command_timeout=self._database.timeout,
                server_settings={"application_name": "sexton doorbell"},
            )
            for channel in CHANNELS:
                await connection.add_listener(channel, self._hear)
        except (*LOST, asyncpg.PostgresError) as error:
            raise unavailable(error) from error
        self._connection = connection

    def _hear(self, connection: object, pid: int, channel: str, payload: object) -> None:
        self._rung(CHANNELS[channel])
