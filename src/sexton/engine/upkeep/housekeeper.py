"""Makes partitions ahead, and deletes what has outlived its retention."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.scheduler.set_aside import forget_solved
from sexton.postgres import locks
from sexton.postgres.database import LOCALLY_BY_KEY, Database
from sexton.postgres.partitions import drop_old_partitions, make_partitions
from sexton.postgres.transaction import Context, command

BATCH = 5000
HOUSEKEEPING_SECONDS = 600.0


class Housekeeper(Loop):
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
                await self._clean(Context(self._database, now=now, connection=connection))
        return HOUSEKEEPING_SECONDS

    async def _clean(self, context: Context) -> None:
        keep_days, now = self._settings.retention_days, context.now
        await drop_old_partitions(self._database, context.open, keep_days=keep_days, now=now)
        while await remove_completed(context, keep_days) >= BATCH:
            pass
        await context.execute("jobs/remove_requests", now=now)
        await forget_solved(context)
        await context.execute("cluster/remove_nodes", now=now)


@command
async def remove_completed(context: Context, keep_days: int) -> int:
    """Delete jobs that are completed or deleted and whose time is over; how many."""
    await context.open.execute(LOCALLY_BY_KEY)
    return int(
        await context.fetchval("jobs/remove_completed", now=context.now, limit=BATCH, keep_days=keep_days)
    )
