"""How many occurrences are planned in each hour, where there are too many jobs to name them.

Timers that fire alike are counted together, and their schedule is worked out once for all of them. Where
there are very many timers a part of them is counted, and stands for all; and schedules are worked out for a
short while only, the largest groups first: what is done stands for the rest. Both make an estimate.

What a schedule does in a range is remembered, for all callers of a process: the same pages are looked at
again and again, and what one of them had no time for is done for the next one.
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
# For so long schedules are worked out for one answer, in slices after which others may go on.
WORK_SECONDS, SLICE_SECONDS = 0.08, 0.01
# Schedules that are read together, and shards that are counted together.
READ_TOGETHER, TOGETHER = 500, 4
# Above this a part of the timers is counted: about so many.
MOST_COUNTED = 50_000
# Of a part with fewer timers than these of the namespace nothing can be said: then all are counted.
FEWEST_SAMPLED = 2_000
# Groups of so many jobs are worked out first.
LARGE = 100
# Schedules and ranges that are remembered: three kilobytes for a month.
REMEMBERED = 4_000
MOST_TIMES = 62 * 24 * 60

#: timing_key, scheduled_at, runs_left
Key = tuple[Any, datetime, int | None]
#: The occurrences of a group in a range: those of a schedule, from where the timers stand on.
Times = Callable[[Schedule | None, datetime, datetime, datetime, int | None], list[datetime]]
Read = Callable[[dict[str, Any]], Schedule | None]


class PlannedHours:
    """Counts by the hour; remembers what schedules do."""

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
        """By the hour what is planned from an instant on, and whether that is an estimate."""
        groups, share = await _groups(context, end, others)
        # The largest first; the small ones in any order: those for which there is time stand for the rest.
        order = list(groups.items())
        random.Random(0).shuffle(order)
        order.sort(key=lambda each: -each[1][0] if each[1][0] >= LARGE else 0)
        # The hour that has begun is worked out each time, the whole ones after it once.
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
        """The schedules of these groups, by their timing keys: what is remembered may be fewer."""
        samples = {key[0]: sample for key, (_, sample) in part}
        found = {key: _recall(self._schedules, key) for key in samples if key in self._schedules}
        missing = [sample for key, sample in samples.items() if key not in found]
        if missing:
            for row in await context.fetch("firing/load_schedules", jobs=missing):
                found[row["timing_key"]] = read(dict(row))
                _keep(self._schedules, row["timing_key"], found[row["timing_key"]])
        return found


def _recall(known: OrderedDict[Any, Any], name: Any) -> Any:
    """What was used last is forgotten last."""
    if name in known:
        known.move_to_end(name)
    return known.get(name)


def _keep(known: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    known[name] = value
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def _by_hour(times: Sequence[datetime], first: datetime) -> array[int]:
    """Up to the last one."""
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
    """Timers that fire alike: how many jobs, and one of them. Beside that, which share of all was counted."""
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
