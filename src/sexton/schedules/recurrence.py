"""RFC 5545 recurrence rules: FREQ, INTERVAL, COUNT, UNTIL, every BY part, BYSETPOS and WKST.

How Sexton reads a rule:

- DTSTART is the anchor. It is an occurrence only if the rule yields it. What the rule leaves open (the time
  of day, the weekday, the day of the month, the month) comes from it.
- UNTIL is inclusive. With Z it is an instant, without Z wall time, and a date means that whole day.
- COUNT counts the wall times that the rule yields. A time that a gap skips does not count, a time that a fold
  doubles counts once. EXDATE removes occurrences after COUNT has counted them.

No question walks from DTSTART: it moves the anchor by a multiple of INTERVAL. A rule of days or coarser
periods is a filter of days and a set of times of day. A rule of hours or finer is a series of units
(`progression`), filtered by day. COUNT becomes an end once, when the schedule is made (`count`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import replace
from datetime import date

from sexton.errors import ScheduleError
from sexton.schedules import words
from sexton.schedules.days import RecurrenceDays
from sexton.schedules.progression import Progression
from sexton.schedules.rfc5545 import Frequency, Parts
from sexton.schedules.wall import (
    DAY,
    EPOCH_ORDINAL,
    EVERY_KIND_OF_YEAR,
    FIRST_WALL,
    LAST_WALL,
    Budget,
    Rule,
    TimesOfDay,
    is_leap,
    month_length,
    to_wall,
    weekday_of,
)

UNIT_SECONDS = {Frequency.DAILY: DAY, Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}


class Recurrence(Rule):
    """A recurrence rule as a set of wall seconds: from the anchor to its end."""

    def __init__(self, parts: Parts, anchor: int | None) -> None:
        """`anchor` is wall time. It may be None if the rule takes nothing from it."""
        self.parts = parts
        self.anchor = anchor
        self.running = parts.freq >= Frequency.HOURLY
        self.first = FIRST_WALL if anchor is None else anchor
        self.last = LAST_WALL - 1
        #: Why the rule has no time at all, if that is known from its numbers alone.
        self.never: str | None = None
        if parts.until:
            # The schedule compares instants. No clock is a day ahead of UTC, so nothing later is needed here.
            self.last = min(self.last, to_wall(parts.until.at) + (DAY if parts.until.utc else 0))
        base = self.base = anchor or 0
        filled = parts.with_days_of(_date(base // DAY))
        if parts.freq is Frequency.MONTHLY and parts.interval > 1:
            filled = self._with_reached_months(filled)
        self.days = RecurrenceDays(
            filled, numbered_in_year=parts.freq is Frequency.YEARLY and not parts.month
        )
        self._cycle = _cycle(parts)
        self._sets: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._latest_set: tuple[int, int, tuple[int, ...]] = (0, 0, ())
        if parts.freq >= Frequency.DAILY:
            self._prepare_units()
        time = base % DAY
        second = parts.second or (time % 60,)
        minute = parts.minute or (time // 60 % 60,)
        if self.running:
            self._prepare_offsets(minute, second)
        else:
            self.times = TimesOfDay(parts.hour or (time // 3600,), minute, second)
            if parts.setpos:
                self._check_places(self.times.size * self._most_days())
        if self.never:
            self.last = self.first - 1

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

    def check(self, budget: Budget, *, complete: bool) -> None:
        """Refuse a rule that never fires, or so rarely that the budget does not reach its first two times. A
        complete text, with DTSTART, may have no times left."""
        first = self.next(self.first - 1, budget)
        if first is not None:
            self.next(first, budget)
        elif complete:
            self.last = self.first - 1
        else:
            stepped = self.never or self.parts.interval > 1
            hint = "check INTERVAL and the BY parts" if stepped else "check BYMONTH and the days"
            raise ScheduleError("never_fires", self.never or self._never_comes(), position=0, hint=hint)

    # Days and coarser

    def _next_day(self, wall: int, budget: Budget) -> int | None:
        day, time = divmod(wall + 1, DAY)
        allowed = self.aligned_day(day, budget)
        if allowed == day:
            time = self.times.at_or_after(time)
            if time >= 0:
                return day * DAY + time
            allowed = self.aligned_day(day + 1, budget)
        return None if allowed is None else allowed * DAY + self.times.first

    def aligned_day(self, day: int, budget: Budget) -> int | None:
        """The first day from `day` on that the filter allows and INTERVAL reaches."""
        if self.parts.interval == 1:
            return self.days.at_or_after(day, budget)
        if self.parts.freq is Frequency.DAILY and self.exact:
            return self.units.at_or_after(day * DAY) // DAY
        last = min(self.last, budget.last) // DAY
        limit = min(day + self._cycle, last)
        # Years are looked at one by one: a filter could skip many that INTERVAL does not reach either.
        yearly = self.parts.freq is Frequency.YEARLY
        while day <= limit:
            day = self._align(day)
            if day > limit:
                break
            end = self._period(day)[1] if yearly else last + 1
            allowed = self.days.at_or_after(day, budget, end - 1)
            if allowed is not None:
                if self._align(allowed) == allowed:
                    return allowed
                day = allowed
            elif yearly:
                day = end
            else:
                return None
            budget.spend(3)
        return None

    def _align(self, day: int) -> int:
        """`day` itself if its year, month, week or day is a multiple of INTERVAL from the anchor's, else the
        first day of the next one that is. Days must also be on a wanted weekday."""
        interval = self.parts.interval
        base = self.base // DAY
        match self.parts.freq:
            case Frequency.DAILY:
                return self.units.at_or_after(day * DAY) // DAY
            case Frequency.WEEKLY:
                start = self._week(base)
                behind = (self._week(day) - start) // 7 % interval
                return day if behind == 0 else self._week(day) + (interval - behind) * 7
        when, then = _date(day), _date(base)
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

    def _with_reached_months(self, filled: Parts) -> Parts:
        """The months that INTERVAL reaches, for the filter: every 12 months is always the same month."""
        common = math.gcd(self.parts.interval, 12)
        start = _date(self.base // DAY).month
        reached = [month for month in filled.month or range(1, 13) if (month - start) % common == 0]
        if not reached:
            names = [words.MONTH_NAMES[month - 1] for month in (start, *filled.month)]
            self.never = (
                f"every {self.parts.interval} months from {names[0]} is never {words.listed(names[1:], 'or')}"
            )
        return replace(filled, month=tuple(reached)) if common > 1 and reached else filled

    # BYSETPOS

    def _check_places(self, most: int) -> None:
        """The rule never fires if all places are beyond the `most` times that a set can have."""
        if most < min(map(abs, self.parts.setpos)):
            places = ",".join(map(str, self.parts.setpos))
            times = f"{most} time{'s' if most > 1 else ''}"
            self.never = f"BYSETPOS={places}: no {words.UNITS[self.parts.freq]} has more than {times}"

    def _most_days(self) -> int:
        """How many days one set can have at the most."""
        parts = self.parts
        match parts.freq:
            case Frequency.DAILY:
                return 1
            case Frequency.WEEKLY:
                return len(parts.weekday) or 1
            case Frequency.MONTHLY:
                if min(map(abs, parts.setpos)) <= self.times.size:
                    return 31  # any set has a day
                return self.days.most_in_month()
        return len(parts.yearday) or 366

    def _next_in_set(self, wall: int, budget: Budget) -> int | None:
        """BYSETPOS: each year, month, week or day is a set, and the rule takes some places of it."""
        start = self._period((wall + 1) // DAY)[0]
        limit = min(start + self._cycle, self.last // DAY, budget.last // DAY)
        while True:
            day = self.aligned_day(start, budget)
            if day is None or day > limit:
                return None
            _, start, chosen = self.set_of(day, budget)
            place = bisect_right(chosen, wall)
            if place < len(chosen):
                return chosen[place]

    def set_of(self, day: int, budget: Budget) -> tuple[int, int, tuple[int, ...]]:
        """The year, month, week or day that holds `day`, as its first day, its end and the times taken."""
        start, end = self._period(day)
        if self._latest_set[:2] == (start, end):
            return self._latest_set
        budget.spend(4)
        kind = self._kind(start, end)
        offsets = self._sets.get(kind)
        if offsets is None:
            budget.spend(10)
            offsets = self._offsets_in_set(start, end)
            if kind:
                self._sets[kind] = offsets
        self._latest_set = (start, end, tuple(start * DAY + offset for offset in offsets))
        return self._latest_set

    def _kind(self, start: int, end: int) -> tuple[int, ...]:
        """Months and years of one kind have the same days; weeks depend on the months they lie in."""
        if self.parts.freq > Frequency.MONTHLY:
            return ()
        year = _date(start).year
        return weekday_of(start), end - start, is_leap(year - 1), is_leap(year + 1)

    def _offsets_in_set(self, start: int, end: int) -> tuple[int, ...]:
        days = self.days.between(start, end)
        total = len(days) * self.times.size
        places = {place - 1 if place > 0 else total + place for place in self.parts.setpos}
        return tuple(
            (days[place // self.times.size] - start) * DAY + self.times.nth(place % self.times.size)
            for place in sorted(places)
            if 0 <= place < total
        )

    def _period(self, day: int) -> tuple[int, int]:
        match self.parts.freq:
            case Frequency.DAILY:
                return day, day + 1
            case Frequency.WEEKLY:
                return self._week(day), self._week(day) + 7
        when = _date(day)
        if self.parts.freq is Frequency.MONTHLY:
            start = day - when.day + 1
            return start, start + month_length(when.year, when.month)
        start = date(when.year, 1, 1).toordinal() - EPOCH_ORDINAL
        return start, start + 365 + is_leap(when.year)

    # Units: days, hours, minutes, seconds

    def _prepare_units(self) -> None:
        """A unit is aligned by INTERVAL and filtered by day and by time of day."""
        freq, parts = self.parts.freq, self.parts
        unit = self.unit = UNIT_SECONDS[freq]
        self.unit_times = TimesOfDay(
            (parts.hour or range(24)) if freq >= Frequency.HOURLY else (0,),
            (parts.minute or range(60)) if freq >= Frequency.MINUTELY else (0,),
            (parts.second or range(60)) if freq >= Frequency.SECONDLY else (0,),
        )
        weekdays = {weekday for _, weekday in parts.weekday}
        origin, step = self.base - self.base % unit, unit * parts.interval
        self.units = Progression(origin, step, unit, weekdays, self.unit_times)
        #: Whether `units` alone decide, and the filter of days has nothing to add.
        self.exact = self.units.listed and self.days.weekly
        self._every_unit = self.exact and self.units.size == self.units.points
        self._origin, self._step = origin, step
        if not self.units.size:
            self.never = self._never_meets()

    def _prepare_offsets(self, minute: tuple[int, ...], second: tuple[int, ...]) -> None:
        """An hour, minute or second holds `offsets`."""
        freq = self.parts.freq
        inner = TimesOfDay(
            (0,),
            minute if freq < Frequency.MINUTELY else (0,),
            second if freq < Frequency.SECONDLY else (0,),
        )
        self.offsets = [inner.nth(index) for index in range(inner.size)]
        if self.parts.setpos:
            self._check_places(inner.size)
            places = {place - 1 if place > 0 else inner.size + place for place in self.parts.setpos}
            self.offsets = [offset for place, offset in enumerate(self.offsets) if place in places]

    def _next_unit(self, wall: int, budget: Budget) -> int | None:
        unit = wall - wall % self.unit
        if self._aligned_unit(unit, budget) == unit:
            place = bisect_right(self.offsets, wall - unit)
            if place < len(self.offsets):
                return unit + self.offsets[place]
        following = self._aligned_unit(unit + self.unit, budget)
        return None if following is None else following + self.offsets[0]

    def _aligned_unit(self, unit: int, budget: Budget) -> int | None:
        """The first aligned and allowed unit from `unit` on. Each failed check moves to the next unit that
        would pass it."""
        if self._every_unit:
            return unit + (self._origin - unit) % self._step
        listed = self.units.listed
        while True:
            unit = self.units.at_or_after(unit)
            if self.exact:
                return unit
            if unit > self.last or unit > budget.last:
                return None
            budget.spend()
            day, time = divmod(unit, DAY)
            allowed = self.days.at_or_after(day, budget)
            if allowed is None:
                return None
            if allowed != day:
                unit = allowed * DAY
                continue
            allowed_time = time if listed else self.unit_times.at_or_after(time)
            if allowed_time == time:
                return unit
            unit = day * DAY + allowed_time if allowed_time >= 0 else (day + 1) * DAY

    # Why a rule never fires

    def _never_meets(self) -> str:
        parts, time = self.parts, self.base % DAY
        steps = f"every {parts.interval} {words.UNITS[parts.freq]}{'s' if parts.interval > 1 else ''}"
        weekday = words.DAY_NAMES[weekday_of(self.base // DAY)]
        weekdays = sorted({day for _, day in parts.weekday})
        wanted = words.listed([words.DAY_NAMES[day] for day in weekdays], "or") if weekdays else ""
        if parts.freq is Frequency.DAILY:
            return f"{steps} from a {weekday} is never a {wanted}"
        start = f"{time // 3600:02}:{time // 60 % 60:02}:{time % 60:02}".removesuffix(":00")
        if not wanted:
            return f"{steps} from {start} never meets BYHOUR, BYMINUTE and BYSECOND"
        return f"{steps} from {start} on a {weekday} is never a {wanted} at a wanted time"

    def _never_comes(self) -> str:
        month, day = self.parts.month, self.parts.monthday
        if len(month) == len(day) == 1 and day[0] > month_length(2000, month[0]):
            return f"{day[0]} {words.MONTH_NAMES[month[0] - 1]} never comes"
        return "no time matches this rule"


def _date(day: int) -> date:
    return date.fromordinal(day + EPOCH_ORDINAL)


def _cycle(parts: Parts) -> int:
    """In how many days everything repeats: the calendar does in 400 years, INTERVAL in its own number."""
    if parts.interval == 1:
        return EVERY_KIND_OF_YEAR * 366
    match parts.freq:
        case Frequency.YEARLY:
            return math.lcm(400, parts.interval) // 400 * 146_097 + 366
        case Frequency.MONTHLY:
            return math.lcm(4800, parts.interval) // 4800 * 146_097 + 366
        case Frequency.WEEKLY:
            return math.lcm(20_871, parts.interval) * 7 + 7
    return math.lcm(146_097, parts.interval) + 1
