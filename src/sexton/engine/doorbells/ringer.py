"""The publishing side of a broker: tells it which runs can be claimed.

A firing passes its jobs on after its commit, and never waits for the broker or fails with it. The ringer
reads the ids of the runs, by (job, scheduled_at) on the index that `why` uses. The firing statement does not
return them, since its answer must stay small, and the ids between two firings also belong to others, since
every session takes ids from the sequence in blocks. The ringer drops and counts firings beyond
`MOST_WAITING`.

Other runs, such as a retry, a manual run or a redrive, become available at their time. Once a second the
ringer rings for the runs that became available since its last look. It rings again for runs that no worker
claims: after a wait of one sweep, and of two, four, eight sweeps and so on, so that it does not ring for a
long backlog all the time. One scheduler does both, the leader of the first shard; two at a time would do no
harm.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import asyncpg

from sexton import clock
from sexton.config import Settings
from sexton.engine.doorbells.base import notices_of
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.errors import Unavailable
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

# Firings of up to `batch_size` jobs each; more than these wait only if the broker is slow or away.
MOST_WAITING = 200

# The ringer does not ring again for a run that has waited for about a day: idle workers look by themselves.
DOUBLINGS = 14

# At most so many at a time of one lane, priority and age.
MOST_AT_ONCE = 10_000

# Rows become visible later than the time in them.
OVERLAP = timedelta(seconds=1)

# Jobs and their groups as the text of arrays, the scheduled time of each group, and the number of jobs: the
# parameters of `firing/fire.sql`.
Fired = tuple[str, str, Sequence[datetime], int]


class Ringer(Loop):
    """Rings at once for fired runs, and for other runs at their time."""

    name = "ringer"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        broker: BrokerConnection,
        telemetry: Telemetry,
        *,
        sweeping: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self.broker = broker
        self._telemetry = telemetry
        self._sweeping = sweeping
        self._fired: deque[Fired] = deque()
        self._looked: datetime | None = None
        self._swept: datetime | None = None
        self._look_at = self._sweep_at = float("-inf")

    def fired(self, jobs: str, groups: str, times: Sequence[datetime], count: int) -> None:
        """A firing was committed. Returns at once."""
        if len(self._fired) >= MOST_WAITING:
            self._drop(count)
            return
        self._fired.append((jobs, groups, times, count))
        self.wake()

    def became_available(self) -> None:
        """A run that was not fired can be claimed now."""
        self._look_at = float("-inf")
        self.wake()

    async def tick(self) -> float:
        try:
            while self._fired:
                await self._ring_for(self._fired.popleft())
            await self._look()
        except Unavailable:
            self._drop(sum(count for *_, count in self._fired))
            self._fired.clear()
            raise
        if self._fired:
            return 0.0
        return max(0.0, min(self._look_at - clock.monotonic(), self._settings.poll_seconds))

    async def teardown(self) -> None:
        await self.broker.close()

    async def _ring_for(self, fired: Fired) -> None:
        jobs, groups, times, count = fired
        try:
            await self._publish(
                await self._database.fetch("claiming/find_fired", jobs=jobs, groups=groups, times=times)
            )
        except Unavailable:
            self._drop(count)
            raise

    async def _look(self) -> None:
        now = clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + self._settings.poll_seconds
        if not self._sweeping():
            self._looked = self._swept = None
            await self._publish([])  # to know whether the broker is there
            return
        self._looked = await self._ring_again(self._looked, [0.0])
        if now >= self._sweep_at:
            self._sweep_at = now + self._settings.sweep_seconds
            ages = [self._settings.sweep_seconds * 2.0**turn for turn in range(DOUBLINGS)]
            self._swept = await self._ring_again(self._swept, ages)

    async def _ring_again(self, since: datetime | None, ages: list[float]) -> datetime:
        """Ring for what has reached one of these ages since then; returns the time of the look."""
        rows = await self._database.fetch(
            "claiming/find_unanswered", since=since, ages=ages, limit=MOST_AT_ONCE
        )
        await self._publish([row for row in rows if row["lane"] is not None])
        now: datetime = rows[0]["now"]
        return now - OVERLAP

    async def _publish(self, rows: list[asyncpg.Record]) -> None:
        notices = [notice for row in rows for notice in notices_of(row["lane"], row["runs"])]
        await self.broker.publish(notices)
        self._telemetry.rings_sent.inc(sum(len(notice.runs) for notice in notices))

    def _drop(self, count: int) -> None:
        self._telemetry.rings_dropped.inc(count)
