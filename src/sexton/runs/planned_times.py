"""The times of jobs in a range, and their number in each hour.

Jobs that fire alike are computed once. The occurrences of a job that fires often are counted by arithmetic
where its schedule allows that, and listed otherwise. The time for all of it is bounded: if it runs out, the
counts are scaled up and marked as an estimate.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import Annotated, Any

import msgspec
from asyncpg import Record

from sexton import clock
from sexton.errors import SextonError
from sexton.jobs.planning import schedule_of
from sexton.refusal import about
from sexton.schedules import Schedule
from sexton.schedules.zone import zone, zone_names

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)
# The most occurrences of one schedule that are listed one by one, 18 µs each.
MOST_TIMES = 62 * 24 * 60
# This many schedules are computed however busy the machine is, more within WORK_SECONDS, and all within at
# most MOST_SECONDS. The time of other tasks in between does not count.
ALWAYS_WORKED_OUT, WORK_SECONDS, MOST_SECONDS = 100, 0.1, 1.0
# After this time the event loop goes on.
SLICE_SECONDS = 0.01
# A job with more times than this has one entry per hour, or one per day if there are too many hours.
MOST_TIMES_NAMED, MOST_HOURS_NAMED = 40, 192
# Beyond this, and with more than OFTEN times an hour, counting is quicker than listing: a minutely job in a
# month takes 15 ms instead of 260.
MOST_TIMES_LISTED, OFTEN = 800, 3

#: Jobs that fire alike: timing_key, scheduled_at, runs_left
Alike = tuple[Any, datetime, int | None]


class AgendaHour(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is in an hour."""

    at: Annotated[datetime, about("The beginning of the hour.")]
    count: Annotated[int, about("Occurrences, planned and past ones.")]
    failed: Annotated[int, about("Past runs that died or expired.")] = 0


class Hours:
    """Counts by the hour."""

    def __init__(self) -> None:
        self.estimated = False
        self._counts: dict[datetime, list[float]] = {}

    def add(self, times: Iterable[datetime], jobs: float = 1, failed: float = 0) -> None:
        for at in times:
            known = self._counts.setdefault(at.replace(minute=0, second=0, microsecond=0), [0.0, 0.0])
            known[0] += jobs
            known[1] += failed

    def add_all(self, other: Hours, times: float) -> None:
        for at, (count, failed) in other._counts.items():
            self.add([at], count * times, failed * times)

    def shown(self) -> list[AgendaHour]:
        return [
            AgendaHour(at=at, count=round(count), failed=round(failed))
            for at, (count, failed) in sorted(self._counts.items())
        ]


async def work_out(
    alike: Mapping[Alike, Sequence[Record]], start: datetime, end: datetime, timezone: str, hours: Hours
) -> tuple[dict[Alike, list[tuple[datetime, int]]], bool]:
    """The times of jobs that fire alike, and whether these are all. Jobs that are due late fire seldom and
    come first; the others come in random order, so that those that are computed are a fair sample."""
    order = sorted(alike, key=lambda each: each[1], reverse=True)
    others = order[ALWAYS_WORKED_OUT:]
    random.Random(0).shuffle(others)
    named: dict[Alike, list[tuple[datetime, int]]] = {}
    work, found, done = _Work(), [Hours(), Hours()], [0, 0]
    for number, key in enumerate([*order[:ALWAYS_WORKED_OUT], *others]):
        chosen = int(number >= ALWAYS_WORKED_OUT)
        if number and work.seconds > (WORK_SECONDS if chosen else MOST_SECONDS):
            break
        same = alike[key]
        counted, named[key] = await _occurrences(work, same[0], key, start, end, timezone)
        found[chosen].add_all(counted, len(same))
        found[chosen].estimated |= counted.estimated
        done[chosen] += len(same)
        await work.pause()
    rest = sum(map(len, alike.values())) - sum(done)
    like = int(done[1] > 0)
    for place in (0, 1):
        hours.add_all(found[place], 1 + (rest / done[place] if place == like and rest else 0))
    estimated = rest > 0 or any(each.estimated for each in found)
    hours.estimated = hours.estimated or estimated
    return named, not estimated


class _Work:
    """Measures the time of computing schedules, without the time of other tasks in between."""

    def __init__(self) -> None:
        self._before, self._since = 0.0, clock.monotonic()

    @property
    def seconds(self) -> float:
        return self._before + clock.monotonic() - self._since

    async def pause(self) -> None:
        """Let the event loop go on, after a slice of work."""
        if clock.monotonic() - self._since > SLICE_SECONDS:
            self._before = self.seconds
            await clock.sleep(0)
            self._since = clock.monotonic()


async def _occurrences(
    work: _Work, row: Record, key: Alike, start: datetime, end: datetime, timezone: str
) -> tuple[Hours, list[tuple[datetime, int]]]:
    """The times of a job by the hour, and its entries."""
    _, scheduled_at, runs_left = key
    schedule, counted = read_schedule(dict(row)), Hours()
    if runs_left is not None and _has_enough(schedule, scheduled_at, end, runs_left):
        runs_left = None
    hourly = None if runs_left is not None else _by_hour(schedule, scheduled_at, start, end, timezone)
    if hourly is not None:
        for at, count in hourly:
            counted.add([at], count)
        return counted, _few(hourly, timezone)
    info, times = _info(timezone), list[datetime]()
    groups: dict[datetime, tuple[datetime, int]] = {}
    for place, at in enumerate(_each_time(schedule, scheduled_at, start, end, runs_left), 1):
        if place % 100 == 0:
            await work.pause()
        if place > MOST_TIMES or (place > MOST_TIMES_LISTED and work.seconds > MOST_SECONDS):
            counted.estimated = True
            break
        if at >= start:
            times.append(at)
            counted.add([at])
            hour = at.astimezone(info).replace(minute=0, second=0, microsecond=0)
            first, many = groups.get(hour, (at, 0))
            groups[hour] = first, many + 1
    if counted.estimated and times:
        _go_on(counted, times, end)
    if len(times) <= MOST_TIMES_NAMED:
        return counted, [(at, 1) for at in times]
    return counted, _few(list(groups.values()), timezone)


def _go_on(counted: Hours, times: Sequence[datetime], end: datetime) -> None:
    """Extrapolate the hours after the last of these times."""
    rate = len(times) * HOUR / max(HOUR, times[-1] - times[0])
    at = times[-1].replace(minute=0, second=0, microsecond=0) + HOUR
    while at < end:
        counted.add([at], rate)
        at += HOUR


def _has_enough(schedule: Schedule | None, scheduled_at: datetime, end: datetime, runs_left: int) -> bool:
    """Whether arithmetic shows that the remaining runs last beyond the range."""
    try:
        many = None if schedule is None else schedule.count(scheduled_at, end)
    except (SextonError, OverflowError):
        return False
    return many is not None and many < runs_left


def _by_hour(
    schedule: Schedule | None, scheduled_at: datetime, start: datetime, end: datetime, timezone: str
) -> list[tuple[datetime, int]] | None:
    """The first time and the number of times of each hour, for a job that fires often, by arithmetic. None if
    it does not fire often, or arithmetic cannot count it."""
    info = _info(timezone)
    if schedule is None or (start.astimezone(info).utcoffset() or timedelta()) % HOUR:
        return None
    after = max(scheduled_at, start) - MICROSECOND
    found: list[tuple[datetime, int]] = []
    try:
        many = schedule.count(after, end - MICROSECOND)
        if many is None or many <= max(MOST_TIMES_LISTED, OFTEN * ((end - start) // HOUR)):
            return None
        while True:
            at = schedule.next_after(after)
            if at is None or at >= end:
                return found
            after = min(at.replace(minute=0, second=0, microsecond=0) + HOUR, end) - MICROSECOND
            count = schedule.count(at - MICROSECOND, after)
            if count is None:
                return None
            found.append((at, count))
    except (SextonError, OverflowError):
        return None


def _few(hours: list[tuple[datetime, int]], timezone: str) -> list[tuple[datetime, int]]:
    """The hours, merged into days if there are many."""
    if len(hours) <= MOST_HOURS_NAMED:
        return hours
    info = _info(timezone)
    days: dict[date, tuple[datetime, int]] = {}
    for at, count in hours:
        day = at.astimezone(info).date()
        first, known = days.get(day, (at, 0))
        days[day] = first, known + count
    return list(days.values())


def _info(timezone: str) -> tzinfo:
    return zone(timezone).info if timezone in zone_names() else UTC


def read_schedule(row: Mapping[str, Any]) -> Schedule | None:
    """The schedule of a job. None for a single time, or if it cannot be computed: its job is set aside when
    it is due."""
    if row["kind"] == "once":
        return None
    try:
        return schedule_of(row)
    except (SextonError, OverflowError):
        return None


def times_of(
    schedule: Schedule | None, scheduled_at: datetime, start: datetime, end: datetime, runs_left: int | None
) -> list[datetime]:
    """The occurrences of a job in a range, from that of its timer on."""
    times = _each_time(schedule, scheduled_at, start, end, runs_left)
    return [at for at in islice(times, MOST_TIMES) if at >= start]


def _each_time(
    schedule: Schedule | None, scheduled_at: datetime, start: datetime, end: datetime, runs_left: int | None
) -> Iterator[datetime]:
    """The occurrences of a job before an instant, from that of its timer on. If the number of remaining runs
    is limited, occurrences before the range are included, because they use up runs."""
    if scheduled_at < end and (runs_left is not None or scheduled_at >= start):
        yield scheduled_at
    if schedule is None:
        return
    after = scheduled_at if runs_left is not None else max(scheduled_at, start - MICROSECOND)
    try:
        later = schedule.between(after, end - MICROSECOND)
        yield from later if runs_left is None else islice(later, max(0, runs_left - 1))
    except (SextonError, OverflowError):
        return
