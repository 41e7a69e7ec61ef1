"""The days that the BY parts of a recurrence allow."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from sexton.schedules.rfc5545 import Parts
from sexton.schedules.wall import EPOCH_ORDINAL, DayFilter, is_leap, month_length


class RecurrenceDays(DayFilter):
    """The days that the BY parts of a rule allow, whatever its INTERVAL."""

    __slots__ = ("_masks", "_monthly", "_numbered_in_year", "_parts", "weekly")

    def __init__(self, parts: Parts, *, numbered_in_year: bool) -> None:
        super().__init__()
        self._parts = parts
        self._numbered_in_year = numbered_in_year
        self._masks: dict[tuple[int, ...], int] = {}
        #: Whether a month depends on nothing but its length and its first weekday.
        self._monthly = not (parts.yearday or parts.weekno or numbered_in_year)
        #: Whether no part says more than a weekday: then every week is like every other.
        self.weekly = not (parts.month or parts.monthday or parts.yearday or parts.weekno)

    def mask(self, year: int, month: int) -> int:
        parts = self._parts
        if parts.month and month not in parts.month:
            return 0
        first_day, length = date(year, month, 1), month_length(year, month)
        key: tuple[int, ...] = (first_day.weekday(), length)
        if not self._monthly:  # the years beside it decide how many weeks they have
            key += (month, is_leap(year - 1), is_leap(year), is_leap(year + 1))
        mask = self._masks.get(key)
        if mask is None:
            january_first = date(year, 1, 1).weekday()
            first = first_day.timetuple().tm_yday
            mask = self._masks[key] = sum(
                1 << (day - 1)
                for day in range(1, length + 1)
                if self._allows(year, day, length, first + day - 1, january_first)
            )
        return mask

    def next_month(self, year: int, month: int) -> tuple[int, int]:
        for allowed in self._parts.month:
            if allowed > month:
                return year, allowed
        return (year + 1, self._parts.month[0]) if self._parts.month else super().next_month(year, month)

    def between(self, start: int, end: int) -> list[int]:
        """The allowed days of a year, a month, a week or a day."""
        days: list[int] = []
        while start < end:
            when = date.fromordinal(start + EPOCH_ORDINAL)
            mask = self.mask(when.year, when.month) >> (when.day - 1)
            days += [start + place for place in _places(mask)]
            start += month_length(when.year, when.month) - when.day + 1
        while days and days[-1] >= end:
            days.pop()
        return days

    def most_in_month(self) -> int:
        """How many days are allowed in the month that has most of them."""
        return max(self.mask(year, month).bit_count() for year in range(2001, 2029) for month in range(1, 13))

    def count_in_month(self, day: int, end: int) -> tuple[int, int]:
        """How many allowed days there are from `day` up to `end`, or up to the end of its month if that comes
        first; and up to where they were counted."""
        when = date.fromordinal(day + EPOCH_ORDINAL)
        end = min(end, day - when.day + 1 + month_length(when.year, when.month))
        mask = self.mask(when.year, when.month) >> (when.day - 1) & ((1 << (end - day)) - 1)
        return mask.bit_count(), end

    def _allows(self, year: int, day: int, length: int, yearday: int, january_first: int) -> bool:
        parts = self._parts
        year_length = 365 + is_leap(year)
        if parts.monthday and day not in parts.monthday and day - length - 1 not in parts.monthday:
            return False
        if parts.yearday and yearday not in parts.yearday and yearday - year_length - 1 not in parts.yearday:
            return False
        weekday = (january_first + yearday - 1) % 7
        if parts.weekno and not self._in_weeks(year, yearday, weekday):
            return False
        if not parts.weekday:
            return True
        if self._numbered_in_year:
            place, size = yearday, year_length
        else:
            place, size = day, length
        nth, from_end = (place - 1) // 7 + 1, -((size - place) // 7 + 1)
        return any(weekday == wanted and which in (0, nth, from_end) for which, wanted in parts.weekday)

    def _in_weeks(self, year: int, yearday: int, weekday: int) -> bool:
        """Week 1 is the first with at least four days in the year; weeks begin on WKST."""
        start = yearday - (weekday - self._parts.week_start) % 7  # of this day's week, as a day of this year
        if start < -2:  # fewer than four of its days are in this year: the last week of the year before
            year -= 1
            start += 365 + is_leap(year)
        elif start > 365 + is_leap(year) - 3:
            start -= 365 + is_leap(year)
            year += 1
        number = (start + 2) // 7 + 1
        january_first = (date(year, 1, 1).weekday() - self._parts.week_start) % 7
        weeks = 53 if january_first == 3 or (january_first == 2 and is_leap(year)) else 52
        return number in self._parts.weekno or number - weeks - 1 in self._parts.weekno


@lru_cache(maxsize=1024)
def _places(mask: int) -> tuple[int, ...]:
    """Which bits of a mask are set."""
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)
