"""The number of planned occurrences in each hour, for namespaces with too many jobs to list.

Timers that fire alike form a group, and their schedule is computed once. With very many timers a sample is
counted and scaled up. The time for computing schedules is limited: the largest groups come first, and their
counts are scaled up to all groups. Both make the result an estimate.

The occurrences of a schedule in a range are cached for all callers of a process: the same pages are opened
again, and each call computes what the call before had no time for.
"""

from __future__ import annotations

import random
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sexton import clock
from sexton.postgres.migrate import shard_count
from sexton.postgres.transaction import Context
from sexton.schedules import Schedule

HOUR = timedelta(hours=1)
# The time for computing schedules in one call, in slices between which the event loop goes on.
WORK_SECONDS, SLICE_SECONDS = 0.08, 0.01
# Schedules that are read together, and shards that are counted together.
READ_TOGETHER, TOGETHER = 500, 4
# With more timers than this, a sample of about this size is counted.
MOST_COUNTED = 50_000
# A sample with fewer timers of the namespace says too little: then all timers are counted.
FEWEST_SAMPLED = 2_000
# Groups of at least this many jobs are computed first.
LARGE = 100
# Cached schedules and ranges: three kilobytes for a month.
REMEMBERED = 4_000
MOST_TIMES = 62 * 24 * 60

#: timing_key, scheduled_at, runs_left
Key = tuple[Any, datetime, int | None]
#: The occurrences of a group in a range: those of a schedule, from where the timers stand on.
Times = Callable[[Schedule | None, datetime, datetime, datetime, int | None], list[datetime]]
Read = Callable[[dict[str, Any]], Schedule | None]


class PlannedHours:
    """Counts planned occurrences by the hour, with a cache of schedules and their occurrences."""

    def __init__(self) -> None:
        self._schedules: OrderedDict[Any, Schedule | None] = OrderedDict()
        self._known: OrderedDict[tuple[Any, ...], array[int]] = OrderedDict()

    async def count(
        self,
        context: Context,
        start: datetime,
        end: datetime,
        others: Sequence[str],
        *,
        read: Read,
        times: Times,
    ) -> tuple[dict[datetime, float], bool]:
        """The planned occurrences by hour, and whether they are an estimate."""
        groups, share = await _groups(context, end, others)
        # The largest first, then the small ones in random order: a part of them is a fair sample.
        order = list(groups.items())
        random.Random(0).shuffle(order)
        order.sort(key=lambda each: -each[1][0] if each[1][0] >= LARGE else 0)
        # The present hour is computed each time; the whole hours after it are cached.
        first = start.replace(minute=0, second=0, microsecond=0)
        whole = min(end, start if start == first else first + HOUR)
        totals = [0.0] * (-((first - end) // HOUR))
        began, counted, worked = clock.monotonic(), 0, False
        slice_ends = began + SLICE_SECONDS
        for begin in range(0, len(order), READ_TOGETHER):
            part = order[begin : begin + READ_TOGETHER]
            schedules = await self._learn(context, part, read)
            for key, (jobs, _) in part:
                if key[0] not in schedules:
                    continue  # its job was deleted or changed meanwhile
                place = (*key, whole, end)
                schedule = schedules[key[0]]
                counts = _recall(self._known, place)
                if counts is None:
                    if worked and clock.monotonic() - began > WORK_SECONDS:
                        continue
                    worked = True
                    counts = _by_hour(times(schedule, key[1], whole, end, key[2]), whole)
                    _keep(self._known, place, counts)
                begun = len(times(schedule, key[1], start, whole, key[2])) if whole > start else 0
                _add(totals, counts, jobs, (whole - first) // HOUR)
                totals[0] += begun * jobs
                counted += jobs
                if clock.monotonic() > slice_ends:
                    await clock.sleep(0)
                    slice_ends = clock.monotonic() + SLICE_SECONDS
            if worked and clock.monotonic() - began > WORK_SECONDS:
                break
        every = sum(jobs for jobs, _ in groups.values())
        factor = (every / counted if counted else 1.0) / share
        found = {first + place * HOUR: count * factor for place, count in enumerate(totals) if count}
        return found, share < 1 or counted < every

    async def _learn(
        self, context: Context, part: Sequence[tuple[Key, tuple[int, int]]], read: Read
    ) -> dict[Any, Schedule | None]:
        """The schedules of these groups by timing key: from the cache, else from the database."""
        samples = {key[0]: sample for key, (_, sample) in part}
        found = {key: _recall(self._schedules, key) for key in samples if key in self._schedules}
        missing = [sample for key, sample in samples.items() if key not in found]
        if missing:
            for row in await context.fetch("firing/load_schedules", jobs=missing):
                found[row["timing_key"]] = read(dict(row))
                _keep(self._schedules, row["timing_key"], found[row["timing_key"]])
        return found


def _recall(known: OrderedDict[Any, Any], name: Any) -> Any:
    """Look up an entry, and mark it as used last."""
    if name in known:
        known.move_to_end(name)
    return known.get(name)


def _keep(known: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    known[name] = value
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def _by_hour(times: Sequence[datetime], first: datetime) -> array[int]:
    """The counts by hour, up to the hour of the last time."""
    counts = array("I", bytes(4 * ((times[-1] - first) // HOUR + 1 if times else 0)))
    for at in times:
        counts[(at - first) // HOUR] += 1
    return counts


def _add(totals: list[float], counts: array[int], jobs: float, offset: int) -> None:
    for place, count in enumerate(counts, offset):
        if count:
            totals[place] += count * jobs


async def _groups(
    context: Context, end: datetime, others: Sequence[str]
) -> tuple[dict[Key, tuple[int, int]], float]:
    """Groups of timers that fire alike: the number of jobs, and one of them; and which share of all was
    counted."""
    chosen = {"end": end, "others": others, "most": MOST_TIMES}
    every: int = await context.fetchval("jobs/estimate_timers")
    if every > MOST_COUNTED:
        share = MOST_COUNTED / every
        rows = await context.fetch("jobs/sample_planned", percent=100 * share, **chosen)
        groups = _merged(rows)
        if sum(jobs for jobs, _ in groups.values()) >= FEWEST_SAMPLED:
            return groups, share
    shards = await shard_count(context.database)
    rows = []
    for first in range(0, shards, TOGETHER):
        numbers = list(range(first, min(first + TOGETHER, shards)))
        rows += await context.fetch("jobs/count_planned", shards=numbers, **chosen)
    return _merged(rows), 1.0


def _merged(rows: Sequence[Any]) -> dict[Key, tuple[int, int]]:
    groups: dict[Key, tuple[int, int]] = {}
    for row in rows:
        key = row["timing_key"], row["scheduled_at"], row["runs_left"]
        jobs, sample = groups.get(key, (0, row["sample"]))
        groups[key] = jobs + row["jobs"], sample
    return groups
