"""Wall time as plain numbers: days and seconds of a calendar without a zone.

A wall second counts from 1970-01-01T00:00:00 on the clock on the wall; `day = wall // 86400`. Rules match
wall seconds and nothing else; only `zone.py` knows clock changes. Cron lines and recurrences are made of a
filter of days (`DayFilter`) and a set of times of day (`TimesOfDay`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Collection
from datetime import date, datetime, timedelta
from functools import lru_cache

from sexton.errors import ScheduleError

DAY = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
EPOCH_WALL = datetime(1970, 1, 1)

# Two days of room at either end of what datetime can hold, so that no offset can leave it.
FIRST_WALL = (date(1, 1, 3).toordinal() - EPOCH_ORDINAL) * DAY
LAST_WALL = (date(9999, 12, 30).toordinal() - EPOCH_ORDINAL) * DAY
LAST_DAY = LAST_WALL // DAY

# A step takes about three microseconds, so this many stay under 50 ms.
STEPS = 10_000

# Every kind of month and of year occurs in any 28 years without a turn of the century, and any 60 years hold
# 28 such years. A filter that allows no day in 60 years never allows one.
EVERY_KIND_OF_YEAR = 60


class Budget:
    """The steps that one answer may take. All rules, calendars and zones that work on an answer share its
    budget; when it is used up, the answer is refused as too sparse.

    `last` is a wall time: the caller needs nothing later, so a rule need not look further.
    """

    __slots__ = ("last", "left")

    def __init__(self, steps: int = STEPS, last: int = LAST_WALL) -> None:
        self.left = steps
        self.last = min(last, LAST_WALL)

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise ScheduleError(
                "too_sparse",
                f"no time was found within {STEPS:,} steps: the schedule fires too rarely",
                hint="simplify the rule or its calendars, or list the times in RDATE",
            )


class Rule(ABC):
    """A set of wall seconds. Every kind of schedule has one or more."""

    #: Follows the clock by default: nothing in a gap, both times in a fold.
    running: bool = False

    #: The set has no wall time before this one.
    first: int = FIRST_WALL

    @abstractmethod
    def next(self, wall: int, budget: Budget) -> int | None:
        """The first wall second of the set strictly after `wall`."""

    def count(self, after: int, last: int) -> int | None:
        """How many wall seconds of the set lie in (after, last]; None where that takes as long as going
        through them."""
        return None

    @abstractmethod
    def canonical(self) -> tuple[object, ...]:
        """Every input that `next` depends on, so that equal rules share their work."""

    @abstractmethod
    def words(self) -> str:
        """The rule in English, without its zone."""


class TimesOfDay:
    """Seconds of the day given as the product of hours, minutes and seconds."""

    __slots__ = (
        "_after_hour",
        "_after_minute",
        "_after_second",
        "first",
        "hours",
        "minutes",
        "seconds",
        "size",
    )

    def __init__(self, hours: Collection[int], minutes: Collection[int], seconds: Collection[int]) -> None:
        self.hours = tuple(sorted(set(hours)))
        self.minutes = tuple(sorted(set(minutes)))
        self.seconds = tuple(sorted(set(seconds)))
        self._after_hour = _successors(self.hours, 24)
        self._after_minute = _successors(self.minutes, 60)
        self._after_second = _successors(self.seconds, 60)
        self.size = len(self.hours) * len(self.minutes) * len(self.seconds)
        self.first = self.hours[0] * 3600 + self.minutes[0] * 60 + self.seconds[0]

    def at_or_after(self, time: int) -> int:
        """The first time of the set from `time` on, or -1."""
        minute_of_day, second = divmod(time, 60)
        hour, minute = divmod(minute_of_day, 60)
        this_hour = self._after_hour[hour]
        if this_hour == hour:
            this_minute = self._after_minute[minute]
            if this_minute == minute:
                this_second = self._after_second[second]
                if this_second >= 0:
                    return minute_of_day * 60 + this_second
                this_minute = self._after_minute[minute + 1]
            if this_minute >= 0:
                return hour * 3600 + this_minute * 60 + self.seconds[0]
            this_hour = self._after_hour[hour + 1]
        if this_hour < 0:
            return -1
        return this_hour * 3600 + self.minutes[0] * 60 + self.seconds[0]

    def nth(self, index: int) -> int:
        minute_index, second_index = divmod(index, len(self.seconds))
        hour_index, minute_index = divmod(minute_index, len(self.minutes))
        return self.hours[hour_index] * 3600 + self.minutes[minute_index] * 60 + self.seconds[second_index]

    def rank(self, time: int) -> int:
        """How many times of the set come before `time`."""
        hour, minute, second = time // 3600, time // 60 % 60, time % 60
        index = bisect_left(self.hours, hour) * len(self.minutes) * len(self.seconds)
        if hour in self.hours:
            index += bisect_left(self.minutes, minute) * len(self.seconds)
            if minute in self.minutes:
                index += bisect_left(self.seconds, second)
        return index


@lru_cache(maxsize=4096)
def _successors(values: tuple[int, ...], size: int) -> tuple[int, ...]:
    """For each number up to `size`: the first value from there on, or -1."""
    table = [-1] * (size + 1)
    following = -1
    allowed = set(values)
    for number in range(size - 1, -1, -1):
        if number in allowed:
            following = number
        table[number] = following
    return tuple(table)


class DayFilter(ABC):
    """The days a rule allows, month by month: a subclass makes masks in which bit 0 is the 1st."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        # The month asked for last, as (first day, day after its last, mask): nearly every question
        # is about the same month as the one before.
        self._latest: tuple[int, int, int] = (0, 0, 0)

    @abstractmethod
    def mask(self, year: int, month: int) -> int:
        """The allowed days of a month."""

    def next_month(self, year: int, month: int) -> tuple[int, int]:
        """The month to look at after this one: a filter that allows few months overrides it."""
        return (year, month + 1) if month < 12 else (year + 1, 1)

    def at_or_after(self, day: int, budget: Budget, last: int = LAST_DAY) -> int | None:
        """The first allowed day from `day` on. It looks no further than `last` and the budget's last."""
        if day * DAY > budget.last:
            return None
        first, end, mask = self._latest
        if not first <= day < end:
            when = date.fromordinal(day + EPOCH_ORDINAL)
            first, end, mask = self._month(when.year, when.month)
        remaining = mask >> (day - first)
        if remaining:
            return day + (remaining & -remaining).bit_length() - 1
        start = date.fromordinal(first + EPOCH_ORDINAL)
        year, month = start.year, start.month
        while True:
            budget.spend()
            year, month = self.next_month(year, month)
            if year > 9999 or year > start.year + EVERY_KIND_OF_YEAR:
                return None
            first, end, mask = self._month(year, month)
            if first > last or first * DAY > budget.last:
                return None
            if mask:
                return first + (mask & -mask).bit_length() - 1

    def count(self, first: int, end: int) -> int:
        """How many days from `first` on and before `end` are allowed."""
        found, day = 0, first
        while day < end:
            start, after, mask = self._latest
            if not start <= day < after:
                when = date.fromordinal(day + EPOCH_ORDINAL)
                start, after, mask = self._month(when.year, when.month)
            stop = min(end, after)
            found += ((mask >> (day - start)) & ((1 << (stop - day)) - 1)).bit_count()
            day = stop
        return found

    def _month(self, year: int, month: int) -> tuple[int, int, int]:
        first = date(year, month, 1).toordinal() - EPOCH_ORDINAL
        found = self._latest = (first, first + month_length(year, month), self.mask(year, month))
        return found


def month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def weekday_of(day: int) -> int:
    """Monday is 0."""
    return (day + 3) % 7


def day_of_weekday(weekday: int) -> int:
    """The first day from 1970-01-01 on that is this weekday."""
    return (weekday - 3) % 7


def to_wall(naive: datetime) -> int:
    """Whole seconds; a fraction is cut off."""
    return (naive.toordinal() - EPOCH_ORDINAL) * DAY + naive.hour * 3600 + naive.minute * 60 + naive.second


def from_wall(wall: int) -> datetime:
    return EPOCH_WALL + timedelta(seconds=wall)
