"""How many runs enter and leave each queue, by minute of the last hour.

Firing and finishing write nothing for it. The scheduler that counts history (`activity`) reads the job of
every ended run anyway; it also counts the run in the minute in which it fired and in the minute in which it
ended, for the queue that its job has at that time. Live runs are not in history yet: the reader counts the
newest ones, from the end of their index. So both numbers are up to date within seconds, and a backlog of any
size costs the reader `MOST_LIVE` rows. `cut` says that more live runs came in within the hour than these.

A rate covers the current minute and the one before it, so never less than a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from sexton.jobs.spec import DEFAULTS
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.runs.activity import MINUTE

MINUTES = 60
MOST_LIVE = 20_000


class QueueHour(msgspec.Struct, frozen=True, kw_only=True):
    """What came into a queue and left it in the last hour, by minute."""

    since: Annotated[datetime, about("The beginning of the first minute.")]
    fired: Annotated[list[int], about("Runs that came in, by minute; the last minute is not over.")]
    ended: Annotated[list[int], about("Runs that ended, by minute.")]
    cut: Annotated[bool, about("True if more may have come in: only the newest live runs are counted.")] = (
        False
    )


@dataclass(slots=True)
class Throughput:
    """The runs that entered and left queues up to an instant."""

    now: datetime
    since: datetime
    cut: bool = False
    _minutes: dict[str, list[list[int]]] = field(default_factory=dict)

    def add(self, queue: str, minute: datetime, fired: int, ended: int) -> None:
        place = (minute - self.since) // MINUTE
        if 0 <= place < MINUTES:
            counts = self._minutes.setdefault(queue, [[0] * MINUTES, [0] * MINUTES])
            counts[0][place] += fired
            counts[1][place] += ended

    def hour(self, queue: str) -> QueueHour:
        fired, ended = self._minutes.get(queue) or ([0] * MINUTES, [0] * MINUTES)
        return QueueHour(since=self.since, fired=fired, ended=ended, cut=self.cut)

    def rates(self, queue: str) -> tuple[float, float]:
        """The runs that came in and the runs that ended, per second."""
        seconds = (self.now - self.since - (MINUTES - 2) * MINUTE).total_seconds()
        fired, ended = self._minutes.get(queue) or ([0], [0])
        return round(sum(fired[-2:]) / seconds, 3), round(sum(ended[-2:]) / seconds, 3)


@query
async def read_throughput(context: Context, queue: str | None = None) -> Throughput:
    """The throughput of all queues of the namespace, or of one."""
    now = await context.time()
    since = now.replace(second=0, microsecond=0) - timedelta(minutes=MINUTES - 1)
    async with context.planned_anew():  # a plan for any time reads all jobs
        rows = await context.fetch(
            "activity/read_queues",
            queue=queue,
            default_queue=DEFAULTS.queue,
            since=since,
            until=now + MINUTE,
            most=MOST_LIVE,
        )
    found = Throughput(now, since)
    for row in rows:
        found.cut = row["cut"]
        found.add(row["queue"], row["minute"], row["fired"], row["ended"])
    return found
