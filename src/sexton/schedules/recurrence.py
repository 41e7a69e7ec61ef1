"""RFC 5545 recurrence rules: FREQ, INTERVAL, COUNT, UNTIL, every BY part, BYSETPOS and WKST.

The readings taken here:

- DTSTART is the anchor. It is an occurrence only if the rule yields it. What the rule leaves open (the time
  of day, the weekday, the day of the month, the month) is taken from it.
- UNTIL is inclusive. With Z it is an instant, without it wall time, and a date means that whole day.
- COUNT counts the wall times that the rule yields; times that a gap skips are not counted, a time that a
  fold doubles counts once. EXDATE takes occurrences away after COUNT has counted them.

Nothing here walks from DTSTART: a question is answered by moving the anchor by whole multiples of INTERVAL.
Days and coarser frequencies are a filter of days over times of day; hours and finer are aligned units
filtered by day and time. COUNT is turned into an end once, when the schedule is made.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from sexton.errors import ScheduleError
from sexton.schedules import words
from sexton.schedules.rfc5545 import Frequency, Parts
from sexton.schedules.wall import (
    DAY,
    EPOCH_ORDINAL,
    FIRST_WALL,
    LAST_WALL,
    Budget,
    DayFilter,
    Rule,
    TimesOfDay,
    is_leap,
    month_length,
    to_wall,
    weekday_of,
)

# Counting costs more than looking: this keeps it well under 50 ms.
COUNT_STEPS = 4_000

UNIT_SECONDS = {Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}


class Recurrence(Rule):
    """A recurrence rule as a set of wall seconds: from the anchor to its end."""

    def __init__(self, parts: Parts, anchor: int | None) -> None:
        """`anchor` is wall time; a rule that takes nothing from it may do without."""
        self.parts = parts
        self.anchor = anchor
        self.running = parts.freq >= Frequency.HOURLY
        self.first = FIRST_WALL if anchor is None else anchor
        self.last = LAST_WALL - 1
        if parts.until and not parts.until.utc:
            self.last = min(self.last, to_wall(parts.until.at))
        base = anchor or 0
        self._base = base
        filled = parts.with_days_of(date.fromordinal(base // DAY + EPOCH_ORDINAL))
        self._days = RecurrenceDays(
            filled, numbered_in_year=parts.freq is Frequency.YEARLY and not parts.month
        )
        self._cycle = _cycle(parts)
        time = base % DAY
        second = parts.second or (time % 60,)
        minute = parts.minute or (time // 60 % 60,)
        hour = parts.hour or (time // 3600,)
        if parts.freq <= Frequency.DAILY:
            self._times = TimesOfDay(hour, minute, second)
            if parts.setpos and self._times.size * self._most_days() < min(map(abs, parts.setpos)):
                self.last = self.first - 1  # no set is ever that large
        else:
            self._prepare_units(minute, second)
        self._latest_set: tuple[int, int, tuple[int, ...]] = (0, 0, ())

    def next(self, wall: int, budget: Budget) -> int | None:
        wall = max(wall, self.first - 1)
        if wall >= self.last:
            return None
        if self.running:
            found = self._next_unit(wall, budget)
        elif self.parts.setpos:
            found = self._next_in_set(wall, budget)
        else:
            found = self._next_day(wall, budget)
        return found if found is not None and found <= self.last else None

    def canonical(self) -> tuple[object, ...]:
        return ("recurrence", self.parts, self.anchor, self.last)

    def words(self) -> str:
        return words.recurrence(self.parts, self.anchor)

    def end_after(self, count: int) -> None:
        """Let the `count`-th wall time be the last."""
        self.last = LAST_WALL - 1
        try:
            self.last = min(self.last, self._nth(count, Budget(COUNT_STEPS)))
        except ScheduleError:
            raise count_too_large(f"it takes more than {COUNT_STEPS:,} steps to count") from None

    def count(self, start: int, end: int) -> int:
        """How many wall times there are from `start` up to `end`: both in one day or so, as gaps are."""
        if self.running and self._every_unit:
            return self._rank(end) - self._rank(start)
        count = 0
        budget = Budget()
        wall = self.next(start - 1, budget)
        while wall is not None and wall < end:
            count += 1
            wall = self.next(wall, budget)
        return count

    # Days and coarser

    def _next_day(self, wall: int, budget: Budget) -> int | None:
        day, time = divmod(wall + 1, DAY)
        allowed = self._aligned_day(day, budget)
        if allowed == day:
            time = self._times.at_or_after(time)
            if time >= 0:
                return day * DAY + time
            allowed = self._aligned_day(day + 1, budget)
        return None if allowed is None else allowed * DAY + self._times.first

    def _aligned_day(self, day: int, budget: Budget) -> int | None:
        """The first day from `day` on that the filter allows and INTERVAL hits."""
        if self.parts.interval == 1:
            return self._days.at_or_after(day, budget)
        limit = min(day + self._cycle, self.last // DAY, budget.last // DAY)
        while day <= limit:
            day = self._align(day)
            if day > limit:
                break
            allowed = self._days.at_or_after(day, budget)
            if allowed is None or self._align(allowed) == allowed:
                return allowed
            budget.spend()
            day = allowed
        return None

    def _align(self, day: int) -> int:
        """`day` itself if its year, month, week or day is a multiple of INTERVAL from the anchor's, else the
        first day of the next one that is."""
        interval = self.parts.interval
        base = self._base // DAY
        match self.parts.freq:
            case Frequency.DAILY:
                return day + (base - day) % interval
            case Frequency.WEEKLY:
                start = self._week(base)
                behind = (self._week(day) - start) // 7 % interval
                return day if behind == 0 else self._week(day) + (interval - behind) * 7
        when, then = date.fromordinal(day + EPOCH_ORDINAL), date.fromordinal(base + EPOCH_ORDINAL)
        if self.parts.freq is Frequency.MONTHLY:
            number = when.year * 12 + when.month
            ahead = (then.year * 12 + then.month - number) % interval
            year, month = divmod(number + ahead - 1, 12)
        else:
            ahead = (then.year - when.year) % interval
            year, month = when.year + ahead, 0
        if ahead == 0:
            return day
        return date(year, month + 1, 1).toordinal() - EPOCH_ORDINAL if year <= 9999 else LAST_WALL // DAY + 1

    def _week(self, day: int) -> int:
        """The first day of the week that holds `day`."""
        return day - (weekday_of(day) - self.parts.week_start) % 7

    def _most_days(self) -> int:
        """How many days one set can have at the most."""
        match self.parts.freq:
            case Frequency.DAILY:
                return 1
            case Frequency.WEEKLY:
                return len(self.parts.weekday) or 1
            case Frequency.MONTHLY:
                return 31
        return 366

    def _next_in_set(self, wall: int, budget: Budget) -> int | None:
        """BYSETPOS: each year, month, week or day is a set, of which some places are taken."""
        start = self._period((wall + 1) // DAY)[0]
        limit = min(start + self._cycle, self.last // DAY, budget.last // DAY)
        while True:
            day = self._aligned_day(start, budget)
            if day is None or day > limit:
                return None
            _, start, chosen = self._set(day)
            place = bisect_right(chosen, wall)
            if place < len(chosen):
                return chosen[place]
            budget.spend()

    def _set(self, day: int) -> tuple[int, int, tuple[int, ...]]:
        start, end = self._period(day)
        if self._latest_set[:2] == (start, end):
            return self._latest_set
        days = self._days.between(start, end)
        total = len(days) * self._times.size
        places = {place - 1 if place > 0 else total + place for place in self.parts.setpos}
        chosen = tuple(
            days[place // self._times.size] * DAY + self._times.nth(place % self._times.size)
            for place in sorted(places)
            if 0 <= place < total
        )
        self._latest_set = (start, end, chosen)
        return self._latest_set

    def _period(self, day: int) -> tuple[int, int]:
        match self.parts.freq:
            case Frequency.DAILY:
                return day, day + 1
            case Frequency.WEEKLY:
                return self._week(day), self._week(day) + 7
        when = date.fromordinal(day + EPOCH_ORDINAL)
        if self.parts.freq is Frequency.MONTHLY:
            start = day - when.day + 1
            return start, start + month_length(when.year, when.month)
        start = date(when.year, 1, 1).toordinal() - EPOCH_ORDINAL
        return start, start + 365 + is_leap(when.year)

    # Hours and finer

    def _prepare_units(self, minute: tuple[int, ...], second: tuple[int, ...]) -> None:
        """A unit is one hour, minute or second: aligned by INTERVAL, filtered by day and by `_unit_times`,
        and it holds `_offsets`."""
        freq, parts = self.parts.freq, self.parts
        unit = self._unit = UNIT_SECONDS[freq]
        self._step = unit * parts.interval
        self._origin = self._base - self._base % unit
        inner = TimesOfDay(
            (0,),
            minute if freq < Frequency.MINUTELY else (0,),
            second if freq < Frequency.SECONDLY else (0,),
        )
        offsets = [inner.nth(index) for index in range(inner.size)]
        if parts.setpos:
            places = {place - 1 if place > 0 else len(offsets) + place for place in parts.setpos}
            offsets = [offset for place, offset in enumerate(offsets) if place in places]
        self._offsets = offsets
        self._unit_times = TimesOfDay(
            parts.hour or range(24),
            (parts.minute or range(60)) if freq >= Frequency.MINUTELY else (0,),
            (parts.second or range(60)) if freq >= Frequency.SECONDLY else (0,),
        )
        if not self._unit_times.meets(self._origin % DAY, self._step):
            self._offsets = []
        self._every_unit = self._unit_times.size == DAY // unit and self._days.everything

    def _next_unit(self, wall: int, budget: Budget) -> int | None:
        if not self._offsets:
            return None
        unit = wall - wall % self._unit
        if self._aligned_unit(unit, budget) == unit:
            place = bisect_right(self._offsets, wall - unit)
            if place < len(self._offsets):
                return unit + self._offsets[place]
        following = self._aligned_unit(unit + self._unit, budget)
        return None if following is None else following + self._offsets[0]

    def _aligned_unit(self, unit: int, budget: Budget) -> int | None:
        """The first unit from there on that is aligned and allowed. Each failed check moves on to the next
        unit that would pass it."""
        while True:
            unit += (self._origin - unit) % self._step
            if self._every_unit:
                return unit
            if unit > self.last or unit > budget.last:
                return None
            budget.spend()
            day, time = divmod(unit, DAY)
            allowed = self._days.at_or_after(day, budget)
            if allowed is None:
                return None
            if allowed != day:
                unit = allowed * DAY
                continue
            allowed_time = self._unit_times.at_or_after(time)
            if allowed_time == time:
                return unit
            unit = day * DAY + allowed_time if allowed_time >= 0 else (day + 1) * DAY

    # COUNT

    def _rank(self, wall: int) -> int:
        """How many wall times come before one, when every unit counts."""
        units = -((self._origin - wall) // self._step)  # that begin before `wall`
        if units <= 0:
            return 0
        last_unit = self._origin + (units - 1) * self._step
        return (units - 1) * len(self._offsets) + bisect_left(self._offsets, wall - last_unit)

    def _nth(self, count: int, budget: Budget) -> int:
        """The `count`-th wall time: by arithmetic where every day is alike, otherwise one by one."""
        if self.running and self._every_unit:
            units, place = divmod(count + self._rank(self._base) - 1, len(self._offsets))
            return self._origin + units * self._step + self._offsets[place]
        if DAY % self._step if self.running else self.parts.setpos:
            return self._nth_by_walking(count, budget)
        times = self._times_of_units() if self.running else self._times
        first = self._base // DAY
        # Those of the anchor's own day that came before it count as used up.
        if self._counted_day(first, budget) == first:
            count += times.rank(self._base % DAY)
        skip, place = divmod(count - 1, times.size)
        day = self._nth_day(skip, budget)
        return LAST_WALL if day is None else day * DAY + times.nth(place)

    def _nth_day(self, skip: int, budget: Budget) -> int | None:
        """The allowed day that comes `skip` allowed days after the first one."""
        parts = self.parts
        if self._days.everything and parts.freq is Frequency.DAILY:
            return self._base // DAY + skip * parts.interval
        day = self._counted_day(self._base // DAY, budget)
        by_month = self.running or parts.interval == 1 or parts.freq <= Frequency.MONTHLY
        while day is not None and skip > 0:
            budget.spend()
            left, end = self._days.left_in_month(day) if by_month else (1, day + 1)
            if left > skip:
                left, end = 1, day + 1
            skip -= left
            day = self._counted_day(end, budget)
        return day

    def _counted_day(self, day: int, budget: Budget) -> int | None:
        return self._days.at_or_after(day, budget) if self.running else self._aligned_day(day, budget)

    def _times_of_units(self) -> _ListedTimes:
        """The times of one day, when INTERVAL divides the day."""
        origin, step, units = self._origin, self._step, self._unit_times
        candidates = range(origin % step, DAY, step)
        if units.size == DAY // self._unit and self._offsets == [0]:
            return _ListedTimes(candidates)
        allowed = [time for time in candidates if units.at_or_after(time) == time]
        return _ListedTimes([unit + offset for unit in allowed for offset in self._offsets])

    def _nth_by_walking(self, count: int, budget: Budget) -> int:
        wall: int | None = self.first - 1
        for _ in range(count):
            assert wall is not None
            budget.spend()
            wall = self.next(wall, Budget())
            if wall is None:
                return LAST_WALL
        assert wall is not None
        return wall


class _ListedTimes:
    """Times of day one by one, with what `TimesOfDay` offers for counting."""

    def __init__(self, times: Sequence[int]) -> None:
        self._times = times
        self.size = len(times)

    def nth(self, index: int) -> int:
        return self._times[index]

    def rank(self, time: int) -> int:
        return bisect_left(self._times, time)


def _cycle(parts: Parts) -> int:
    """In how many days everything repeats: the calendar does in 400 years, INTERVAL in its own number."""
    match parts.freq:
        case Frequency.YEARLY:
            return math.lcm(400, parts.interval) // 400 * 146_097 + 366
        case Frequency.MONTHLY:
            return math.lcm(4800, parts.interval) // 4800 * 146_097 + 366
        case Frequency.WEEKLY:
            return math.lcm(20_871, parts.interval) * 7 + 7
    return math.lcm(146_097, parts.interval) + 1


def count_too_large(why: str) -> ScheduleError:
    return ScheduleError(
        "count_too_large",
        f"COUNT is too large: {why}",
        hint="end the rule with UNTIL, or leave COUNT out",
    )


class RecurrenceDays(DayFilter):
    """The days that the BY parts of a rule allow, whatever its INTERVAL."""

    __slots__ = ("_masks", "_numbered_in_year", "_parts", "everything")

    def __init__(self, parts: Parts, *, numbered_in_year: bool) -> None:
        super().__init__()
        self._parts = parts
        self._numbered_in_year = numbered_in_year
        self._masks: dict[tuple[bool, bool, int, int], int] = {}
        self.everything = not (
            parts.month or parts.monthday or parts.yearday or parts.weekno or parts.weekday
        )

    def mask(self, year: int, month: int) -> int:
        parts = self._parts
        if parts.month and month not in parts.month:
            return 0
        january_first = date(year, 1, 1).weekday()
        # Everything about a month follows from these; the year before decides how many weeks it had.
        key = (is_leap(year), is_leap(year - 1), january_first, month)
        mask = self._masks.get(key)
        if mask is None:
            first = date(year, month, 1).timetuple().tm_yday
            length = month_length(year, month)
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

    def left_in_month(self, day: int) -> tuple[int, int]:
        """How many allowed days there are from `day` to the end of its month, and the day after that."""
        when = date.fromordinal(day + EPOCH_ORDINAL)
        mask = self.mask(when.year, when.month) >> (when.day - 1)
        return mask.bit_count(), day - when.day + 1 + month_length(when.year, when.month)

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
