"""Takes back the runs of dead workers, and ends runs whose time is over. Every scheduler does it: it does no
harm to sweep twice."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from datetime import datetime

import asyncpg

from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.jobs.state import next_resumption, resume_due
from sexton.model import encode_id
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import LOCALLY_BY_KEY, Database
from sexton.postgres.transaction import SHARED, Context, command
from sexton.printable import counted
from sexton.runs.completion import end_overdue
from sexton.targets.table import harmless_kinds

log = logging.getLogger("sexton")

BATCH = 5000
# What becomes of the run of a dead worker: it is tried again, it is dead as poison, or it was cancelled.
FATES = ("back", "poison", "cancelled")


class Sweeper(Loop):
    """Runs of dead workers, and runs whose time is over. `steady` says whether this process may declare
    others dead: its own lease was renewed without a gap for a whole lease."""

    name = "sweeper"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        telemetry: Telemetry,
        *,
        steady: Callable[[], bool],
        node: str | None = None,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._telemetry = telemetry
        self._steady = steady
        self._source = Source("sexton", node)
        self._now = now
        self._sweeps = 0

    async def tick(self) -> float:
        """Sweep. Expiry and orphans are swept more rarely, since nothing waits for that: every attempt checks
        the expiry of its run first, and orphans are rare. If a pause of a job ends before the next sweep,
        sleep only until then."""
        sweeps = self._sweeps
        if await self.sweep(expiry=sweeps % 8 == 0, orphans=sweeps % 4 == 0):
            return 0
        self._sweeps += 1
        pause_seconds = await next_resumption(Context(self._database, now=self._now()))
        return min(self._settings.sweep_seconds, pause_seconds)

    async def sweep(self, *, expiry: bool = True, orphans: bool = True) -> bool:
        """One sweep; returns whether there may be more."""
        context = Context(self._database, now=self._now(), source=self._source)
        [there] = await context.fetch("recording/find_sweepable", now=context.now)
        lapsed = there["lapsed"] and self._steady()
        if lapsed:
            for name in await declare_dead(context):
                log.warning("the worker %s has not renewed its lease: its runs are taken back", name)
        full = False
        if lapsed or there["fallen"]:
            full |= await self._reap(context)
        if there["overdue"]:
            full |= await self._end_overdue(context)
        if there["overlapped"]:
            await context.execute("recording/stop_overlapped", now=context.now)
        if expiry:
            expired = await expire(context)
            self._telemetry.expired.inc(expired)
            full |= expired >= BATCH
        if orphans:
            # If a firing has just taken the slot, there is no orphan.
            with contextlib.suppress(asyncpg.UniqueViolationError):
                await context.execute("recording/promote_orphans", now=context.now)
            if mended := await mend_shards(context):
                log.warning("%s moved to a shard that exists", counted(mended, "timer"))
        await resume_due(context)
        return full

    async def _reap(self, context: Context) -> bool:
        counts = await reap(context)
        for fate, count in zip(FATES, counts, strict=True):
            self._telemetry.reaped[fate].inc(count)
        return sum(counts) >= BATCH

    async def _end_overdue(self, context: Context) -> bool:
        fates = await end_overdue(context, BATCH)
        self._telemetry.count_failures("timeout" for fate in fates if fate == "failed")
        self._telemetry.count_ends(fate for fate in fates if fate != "failed")
        return len(fates) >= BATCH


@command
async def declare_dead(context: Context) -> list[str]:
    """Declare workers dead whose lease has ended; returns their names."""
    rows = await context.fetch("cluster/declare_dead", now=context.now)
    for row in rows:
        context.changed(
            "node.declared_dead",
            encode_id("n", row["id"]),
            row["name"],
            before={"state": row["state_before"]},
            after={"state": "dead"},
            namespace=SHARED,
        )
    return [row["name"] for row in rows]


@command
async def mend_shards(context: Context) -> int:
    """Move timers out of shards that do not exist; returns how many."""
    mended = int(await context.fetchval("cluster/mend_shards"))
    if mended:
        detail = {"count": mended, "why": "their shard did not exist"}
        context.changed("timers.moved", namespace=SHARED, detail=detail)
    return mended


@command
async def reap(context: Context) -> tuple[int, ...]:
    """Take back the runs of dead workers; returns how many met each of `FATES`."""
    row = await context.fetchrow("recording/reap", now=context.now, limit=BATCH, harmless=harmless_kinds())
    assert row is not None
    return tuple(row[fate] for fate in FATES)


@command
async def expire(context: Context) -> int:
    """End the runs that have waited too long, or were cancelled while they waited; returns how many."""
    # By indexes, also right after a million runs came into an empty table.
    await context.open.execute(LOCALLY_BY_KEY)
    return int(await context.fetchval("recording/expire", now=context.now, limit=BATCH))
