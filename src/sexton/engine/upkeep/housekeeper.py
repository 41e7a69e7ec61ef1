"""Makes partitions ahead, and deletes data after its retention."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.scheduler.set_aside import forget_solved
from sexton.postgres import locks
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import LOCALLY_BY_KEY, Database
from sexton.postgres.partitions import drop_old_partitions, make_partitions
from sexton.postgres.transaction import SHARED, Context, command
from sexton.runs.activity import remove_old_activity
from sexton.security.audit_chain import remove_old

BATCH = 5000
# Jobs whose history is looked at together, and batches of one housekeeping.
JOBS = 1000
MOST_BATCHES = 2000
HOUSEKEEPING_SECONDS = 600.0


class Housekeeper(Loop):
    name = "housekeeper"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        node: str | None = None,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._source = Source("sexton", node)
        self._now = now

    async def tick(self) -> float:
        now = self._now()
        await make_partitions(self._database, now=now)
        async with self._database.alone(locks.HOUSEKEEPING) as connection:
            if connection is not None:
                context = Context(self._database, now=now, connection=connection, source=self._source)
                await self._clean(context)
        return HOUSEKEEPING_SECONDS

    async def _clean(self, context: Context) -> None:
        keep_days, now = self._settings.retention_days, context.now
        await drop_old_partitions(
            self._database,
            context.open,
            keep_days=keep_days,
            now=now,
            drop=lambda table: drop_partition(context, table, keep_days),
        )
        await shorten_histories(context, keep_days)
        while await remove_completed(context, keep_days) >= BATCH:
            pass
        while await remove_old(context, self._settings.audit_days, BATCH) >= BATCH:
            pass
        await remove_old_activity(context, keep_days)
        await context.execute("jobs/remove_requests", now=now)
        await context.execute("access/remove_sessions", now=now)
        await forget_solved(context)
        await context.execute("cluster/remove_nodes", now=now)


async def shorten_histories(context: Context, keep_days: int, most: int = MOST_BATCHES) -> int:
    """Delete the history of namespaces with a shorter retention than the cluster, a day and some jobs at a
    time; returns how many rows. After `most` batches it begins no other day; the next round continues."""
    deleted = 0
    for row in await context.fetch("quotas/list_histories", keep_days=keep_days, now=context.now):
        namespace, begins = row["name"], row["begins"]
        day = row["history_begins"] or begins - timedelta(days=keep_days)
        while day < begins:
            done, batches = await _delete_day(context, namespace, day)
            deleted, most, day = deleted + done, most - batches, day + timedelta(days=1)
            await context.execute("quotas/begin_history", namespace=namespace, day=day)
            if most <= 0:
                return deleted
        await context.execute("quotas/begin_history", namespace=namespace, day=begins)
    return deleted


async def _delete_day(context: Context, namespace: str, day: date) -> tuple[int, int]:
    """Delete what was recorded of a namespace on this day; returns how many rows, in how many batches."""
    begins = datetime.combine(day, time(), UTC)
    deleted = batches = after = 0
    while jobs := [
        row["id"]
        for row in await context.fetch("quotas/list_jobs", namespace=namespace, after=after, limit=JOBS)
    ]:
        after = jobs[-1]
        done = BATCH
        while done == BATCH:
            done = await context.fetchval(
                "quotas/delete_history",
                jobs=jobs,
                day_begins=begins,
                day_ends=begins + timedelta(days=1),
                limit=BATCH,
            )
            deleted, batches = deleted + done, batches + 1
    return deleted, batches


@command
async def drop_partition(context: Context, table: str, keep_days: int) -> None:
    await context.open.execute(f"drop table {context.database.schema}.{table}")
    context.changed("partition.dropped", table, namespace=SHARED, detail={"keep_days": keep_days})


@command
async def remove_completed(context: Context, keep_days: int) -> int:
    """Delete completed and deleted jobs after the retention; returns how many."""
    await context.open.execute(LOCALLY_BY_KEY)
    row = await context.fetchrow("jobs/remove_completed", now=context.now, limit=BATCH, keep_days=keep_days)
    assert row is not None
    if row["deleted"] or row["removed"]:
        context.changed("jobs.removed", namespace=SHARED, detail=dict(row))
    return int(row["deleted"] + row["removed"])
