"""Computes stored due times again when the zone database changes.

The table `zones` keeps the clock changes of a zone under which its jobs were planned, from its first job on.
If a scheduler has a newer zone database with other clock changes, it moves the timers of that zone's jobs to
their new times (`planning.replan`), a batch per transaction, and logs what it has moved. Only a newer
database wins: a node with an older one changes nothing, and logs that it is behind. Only the owner of the
advisory lock does this; it writes its progress with each batch, so that another node can continue.

A node that is behind still fires the shards that it leads, and plans their next times by the old rules. So
the jobs of a changed zone are checked again every day for a month.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton import clock
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.errors import SextonError
from sexton.jobs import zones
from sexton.jobs.change import HORIZON_SECONDS
from sexton.jobs.planning import replan, schedule_of
from sexton.model import encode_id
from sexton.postgres import locks
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import Database
from sexton.postgres.transaction import SHARED, Context, command
from sexton.printable import counted
from sexton.schedules import Schedule
from sexton.schedules.zone import RecordedZone, Zone, zone, zone_version

log = logging.getLogger("sexton")

# Zones are looked at this often.
LOOK_SECONDS = 600.0

# The pause if the node is not in the table yet: it joins in a moment.
JOIN_SECONDS = 5.0
DAY_SECONDS = 86_400.0
UNSETTLED = timedelta(days=30)

BATCH = 1000
EXAMPLES = 5
LOCK_TRIES = 20


@dataclass(slots=True)
class Moved:
    """The moved jobs of one zone that were planned with a version of the zone database; `last` is the number
    of the last job."""

    version: str
    jobs: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)
    last: int = 0


class Replanner(Loop):
    """Keeps stored due times consistent with the zone database."""

    name = "replanner"

    def __init__(
        self,
        database: Database,
        telemetry: Telemetry,
        *,
        node: str = "",
        version: str | None = None,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._telemetry = telemetry
        self._node = node
        self._version = version or zone_version()
        self._now = now
        self._look_again_at = 0.0
        self._warned: set[str] = set()

    async def tick(self) -> float:
        joined = await self._database.fetchval(
            "cluster/set_zone_version", node=self._node, version=self._version
        )
        async with self._database.alone(locks.REPLAN) as alone:
            if alone is not None:
                source = Source("sexton", self._node or None)
                await self._look(Context(self._database, now=self._now(), connection=alone, source=source))
        return JOIN_SECONDS if joined is None else LOOK_SECONDS

    async def _look(self, context: Context) -> None:
        again = clock.monotonic() >= self._look_again_at
        for row in await context.fetch("zones/list_in_use", now=context.now, recent=UNSETTLED):
            if row["version"] is not None and row["version"] > self._version:
                self._say_behind(row["name"], row["version"])
                continue
            try:
                mine = zone(row["name"])
            except SextonError as error:
                log.error("jobs in the zone %s cannot be planned: %s", row["name"], error)
                continue
            await self._compare(context, row, mine, again=again)
        if again:
            self._look_again_at = clock.monotonic() + DAY_SECONDS

    async def _compare(self, context: Context, row: asyncpg.Record, mine: Zone, *, again: bool) -> None:
        fingerprint = await zones.fingerprint(mine)
        if row["fingerprint"] == fingerprint or row["version"] is None:
            if row["version"] != self._version:
                await self._keep(context, mine, fingerprint)
            if again and row["recent"]:
                moved = await self._move(context, mine, row["previous"], row["previous_version"], None)
                if moved.jobs:
                    self._report(row["name"], row["previous_version"], moved)
        elif row["version"] == self._version:
            # An upgrade has replaced the files under a running process; a restart reads them.
            log.warning(
                "the zone %s differs from the zone database %s, which was upgraded: restart this node",
                row["name"],
                self._version,
            )
        else:
            moved = await self._move(context, mine, row["changes"], row["version"], row["through"] or 0)
            await self._keep(context, mine, fingerprint)
            if row["used"]:
                self._report(row["name"], row["version"], moved)

    async def _keep(self, context: Context, mine: Zone, fingerprint: str) -> None:
        await context.execute(
            "zones/keep",
            name=mine.name,
            version=self._version,
            fingerprint=fingerprint,
            changes=zones.changes(mine),
            now=context.now,
        )

    async def _move(
        self, context: Context, mine: Zone, changes: str, version: str, through: int | None
    ) -> Moved:
        """Move the timers of a zone's jobs that were planned under these clock changes, from a version of the
        zone database. Without `through`: the timers that a node with an older version has planned since."""
        before = RecordedZone(mine.name, msgspec.json.decode(changes))
        moved, last, again = Moved(version), through or 0, through is None
        while (batch := await self._move_batch(context, before, last, moved, again=again)) is not None:
            last = batch
        return moved

    async def _move_batch(
        self, context: Context, before: RecordedZone, after: int, moved: Moved, *, again: bool
    ) -> int | None:
        """Move one batch; returns its last job, or None if there is none. It waits only briefly for the locks
        of an edit or a firing and then tries again, so that they do not wait for it."""
        for attempt in range(LOCK_TRIES):
            try:
                batch = await move_timers(context, before, after, moved.version, self._version, again=again)
                break
            except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
                if attempt == LOCK_TRIES - 1:
                    raise
                await clock.sleep(0.05 * (attempt + 1))
        if batch is None:
            return None
        moved.jobs += batch.jobs
        moved.examples += batch.examples[: EXAMPLES - len(moved.examples)]
        return batch.last

    def _report(self, name: str, version: str, moved: Moved) -> None:
        self._telemetry.replanned.inc(moved.jobs)
        log.warning(
            "the clock changes of %s in the zone database %s differ from %s: %s due at other times%s",
            name,
            self._version,
            version,
            counted(moved.jobs, "job is", "jobs are"),
            "".join(f"; {each['job_id']} {each['from']} → {each['to']}" for each in moved.examples),
        )

    def _say_behind(self, name: str, version: str) -> None:
        if version not in self._warned:
            self._warned.add(version)
            log.warning(
                "this node has the zone database %s, but jobs in %s were planned with %s: "
                "upgrade tzdata here",
                self._version,
                name,
                version,
            )


@command
async def move_timers(
    context: Context, before: RecordedZone, after: int, old: str, new: str, *, again: bool
) -> Moved | None:
    """Move the timers of the next jobs of a zone from one version of the zone database to another, and audit
    it; None if there are no jobs."""
    await context.open.execute("set local lock_timeout = '200ms'")
    rows = await context.fetch("zones/lock_timers", zone=before.name, after=after, limit=BATCH)
    if not rows:
        return None
    places = await asyncio.to_thread(_places, rows, before, again)
    others = [(row, at) for row, at in zip(rows, places, strict=True) if at != row["scheduled_at"]]
    if others or not again:
        await context.execute(
            "zones/replan",
            jobs=[row["id"] for row, _ in others],
            next_at=[at for _, at in others],
            horizon_seconds=HORIZON_SECONDS,
            zone=before.name,
            through=None if again else rows[-1]["id"],
            now=context.now,
        )
    examples = [
        {"job_id": encode_id("j", row["id"]), "from": row["scheduled_at"], "to": at}
        for row, at in others[:EXAMPLES]
    ]
    if others:
        context.changed(
            "zone.replanned",
            before.name,
            before={"version": old},
            after={"version": new},
            namespace=SHARED,
            detail={"jobs": len(others), "examples": examples},
        )
    return Moved(old, len(others), examples, int(rows[-1]["id"]))


def _places(rows: Sequence[asyncpg.Record], before: RecordedZone, again: bool) -> list[datetime | None]:
    """The new time of each timer: computed once for all timers with the same timing key and time."""
    found: dict[object, datetime | None] = {}
    schedules: dict[object, tuple[Schedule, Schedule]] = {}
    places: list[datetime | None] = []
    for row in rows:
        key, case = row["timing_key"], (row["timing_key"], row["scheduled_at"])
        at: datetime | None = row["scheduled_at"]
        try:
            if key not in schedules:
                schedule = schedule_of(dict(row))
                schedules[key] = schedule, schedule.under(before)
            if case not in found:
                found[case] = replan(*schedules[key], row["scheduled_at"], again=again)
            at = found[case]
            if at is not None and at != row["scheduled_at"] and at <= row["created_at"]:
                at = schedules[key][0].next_after(row["created_at"])
        except (SextonError, OverflowError) as error:
            log.error("job %s keeps its time: it cannot be planned again: %s", row["name"], error)
        places.append(at)
    return places
