"""Counts by minute: runs that ended, occurrences that were skipped, and how late runs started.

One scheduler of the cluster counts history into rows of `activity`, some seconds after it was written
(`count_recorded`). The reader counts what was recorded since. So a figure of a day reads a few thousand rows,
however many runs there were, and firing and finishing write nothing for it.

Lateness is kept in steps, each larger by the square root of 2: step 20 begins at one second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from sexton.jobs.spec import DEFAULTS
from sexton.postgres.transaction import Context, command
from sexton.refusal import about

MINUTE = timedelta(minutes=1)
# A run of this step or a higher one is late: a second or more.
LATE = 20
UNKNOWN = -1
# The longest wait for an open transaction. What a longer one records is missing in these figures.
PATIENCE_SECONDS = 60.0
KEEP_DAYS = 35
ENDED = ("success", "dead", "cancelled", "expired")

#: Minute, status, step of lateness, how many.
MinuteRow = tuple[datetime, str, int, int]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What happened since an instant: runs by their end, and skipped occurrences."""

    since: Annotated[datetime, about("The beginning of the count; for `since` of the list of runs.")]
    fired: Annotated[int, about("Runs that have ended since, and those that are live.")] = 0
    succeeded: Annotated[int, about("Runs that ended in success.")] = 0
    on_time: Annotated[int, about("Runs of a schedule that started within a second of their time.")] = 0
    late: Annotated[int, about("Runs of a schedule that started later than that.")] = 0
    failed: Annotated[int, about("Runs that died or expired, and live ones that wait for a retry.")] = 0
    dead: Annotated[int, about("Runs that ended as dead letters.")] = 0
    cancelled: Annotated[int, about("Runs that were cancelled.")] = 0
    expired: Annotated[int, about("Runs that were too old to be started.")] = 0
    skipped: Annotated[int, about("Occurrences that were skipped, each with its reason.")] = 0


class MinuteOfRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that ended in a minute, and how late they started."""

    at: Annotated[datetime, about("The beginning of the minute.")]
    fired: Annotated[int, about("Runs that ended.")] = 0
    failed: Annotated[int, about("Of these, those that died or expired.")] = 0
    skipped: Annotated[int, about("Occurrences that were skipped.")] = 0
    p50_ms: Annotated[
        float | None, about("Half of the runs of schedules started within so many milliseconds.")
    ] = None
    p99_ms: Annotated[
        float | None, about("99 of 100 runs of schedules started within so many milliseconds.")
    ] = None


@dataclass(slots=True)
class Activity:
    """Counts by minute, status and lateness."""

    rows: Sequence[MinuteRow]
    #: Live runs by state.
    live: dict[str, int] = field(default_factory=dict)

    def figures(self, since: datetime) -> Figures:
        """The sums from the minute of this instant on."""
        rows = [row for row in self.rows if row[0] >= since]
        by_status = {status: _sum(row for row in rows if row[1] == status) for status in (*ENDED, "skipped")}
        known = [row for row in rows if row[2] != UNKNOWN]
        late = _sum(row for row in known if row[2] >= LATE)
        return Figures(
            since=since,
            fired=sum(by_status[status] for status in ENDED) + sum(self.live.values()),
            succeeded=by_status["success"],
            on_time=_sum(known) - late,
            late=late,
            failed=by_status["dead"] + by_status["expired"] + self.live.get("failed", 0),
            dead=by_status["dead"],
            cancelled=by_status["cancelled"],
            expired=by_status["expired"],
            skipped=by_status["skipped"],
        )

    def minutes(self, since: datetime, until: datetime) -> list[MinuteOfRuns]:
        """Every minute between two instants, also empty ones."""
        by_minute: dict[datetime, list[MinuteRow]] = {}
        for row in self.rows:
            by_minute.setdefault(row[0], []).append(row)
        found, at = [], since
        while at < until:
            rows = by_minute.get(at, [])
            found.append(
                MinuteOfRuns(
                    at=at,
                    fired=_sum(row for row in rows if row[1] in ENDED),
                    failed=_sum(row for row in rows if row[1] in ("dead", "expired")),
                    skipped=_sum(row for row in rows if row[1] == "skipped"),
                    p50_ms=percentile(rows, 0.5),
                    p99_ms=percentile(rows, 0.99),
                )
            )
            at += MINUTE
        return found


async def read_activity(context: Context, since: datetime, until: datetime) -> Activity:
    """The counts of the namespace between two instants, by minute."""
    rows = await context.fetch("activity/read", since=since, until=until)
    return Activity([(row["minute"], row["status"], row["late"], row["runs"]) for row in rows])


async def read_whole(context: Context, since: datetime, until: datetime) -> list[MinuteRow]:
    """The same counts summed up into the first minute, for figures of a long time."""
    rows = await context.fetch("activity/read_whole", since=since, until=until)
    return [(since, row["status"], row["late"], row["runs"]) for row in rows]


@command
async def count_recorded(context: Context, longest: timedelta) -> tuple[timedelta, bool]:
    """Count the next part of history, at most `longest`. Returns its length, and whether everything is
    counted that can be."""
    [mark] = await context.fetch("activity/lock_mark", patience_seconds=PATIENCE_SECONDS)
    since, safe_until = mark["through"], mark["safe_until"]
    until = min(safe_until, since + longest)
    if until <= since:
        return timedelta(0), True
    await context.execute("activity/count", since=since, until=until, default_queue=DEFAULTS.queue)
    return until - since, until == safe_until


@command
async def remove_old_activity(context: Context, keep_days: int) -> None:
    """Merge counts older than two days into hours, and delete those that are older than history."""
    await context.execute("activity/compact")
    await context.execute("activity/remove_old", keep_days=min(keep_days, KEEP_DAYS))


def percentile(rows: Iterable[MinuteRow], share: float) -> float | None:
    """The milliseconds within which this share of the runs started; None without runs."""
    counts: dict[int, int] = {}
    for _, _, step, runs in rows:
        if step != UNKNOWN:
            counts[step] = counts.get(step, 0) + runs
    left = sum(counts.values()) * share
    for step in sorted(counts):
        left -= counts[step]
        if left <= 0:
            return milliseconds_of(step)
    return None


def milliseconds_of(step: int) -> float:
    """The geometric middle of a step."""
    seconds: float = 2 ** ((step - LATE + 0.5) / 2)
    return round(seconds * 1000, 1)


def _sum(rows: Iterable[tuple[Any, Any, Any, int]]) -> int:
    return sum(row[3] for row in rows)
