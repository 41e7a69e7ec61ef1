"""Partitions, retention, and what nothing needs any longer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.scheduler.set_aside import forget_solved
from sexton.postgres import locks
from sexton.postgres.database import LOCALLY_BY_KEY, Connection, Database
from sexton.postgres.partitions import drop_old_partitions, make_partitions
from sexton.postgres.transaction import Context

BATCH = 5000
HOUSEKEEPING_SECONDS = 600.0


class Housekeeper(Loop):
    """Partitions, retention, and what is not needed any longer."""

    name = "housekeeper"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._now = now

    async def tick(self) -> float:
        now = self._now()
        await make_partitions(self._database, now=now)
        async with self._database.alone(locks.HOUSEKEEPING) as connection:
            if connection is not None:
                await self._clean(connection, now)
        return HOUSEKEEPING_SECONDS

    async def _clean(self, connection: Connection, now: datetime | None) -> None:
        await drop_old_partitions(
            self._database, connection, keep_days=self._settings.retention_days, now=now
        )
        while await self._remove_completed(connection, now) >= BATCH:
            pass
        await connection.execute(self._database.statement("remove_requests"), now)
        await forget_solved(Context(self._database, now=now, connection=connection))
        await connection.execute(self._database.statement("remove_nodes"), now)

    async def _remove_completed(self, connection: Connection, now: datetime | None) -> int:
        async with connection.transaction():
            await connection.execute(LOCALLY_BY_KEY)
            removed: int = await connection.fetchval(
                self._database.statement("remove_completed"), now, BATCH, self._settings.retention_days
            )
        return removed
