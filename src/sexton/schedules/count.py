"""COUNT turned into an end, once, when a schedule is made.

The gaps of the zone, whose times do not count, divide the time into stretches. A stretch is counted by
arithmetic where the units or the times of every allowed day are alike, otherwise time by time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from sexton.errors import ScheduleError
from sexton.schedules.recurrence import Recurrence
from sexton.schedules.rfc5545 import Frequency
from sexton.schedules.wall import DAY, LAST_WALL, STEPS, Budget

# Gaps are passed one by one.
LONGEST = 100 * 366 * DAY


def end_after(rule: Recurrence, count: int, gaps: Iterable[tuple[int, int]], budget: Budget) -> None:
    """End a rule with its `count`-th wall time. Wall times in `gaps` do not count; `gaps` are in order."""
    if rule.last < rule.first:
        return
    try:
        rule.last = min(rule.last, _nth(rule, count, gaps, budget))
    except ScheduleError as error:
        if error.code == "too_sparse":
            raise _too_large(f"it takes more than {STEPS:,} steps to count") from None
        raise


def _nth(rule: Recurrence, count: int, gaps: Iterable[tuple[int, int]], budget: Budget) -> int:
    counter = _counter(rule, budget)
    begin = rule.first
    for start, end in gaps:
        if start - rule.first > LONGEST:
            raise _too_large("it ends more than 100 years after its start")
        budget.spend()
        counted, wall = counter.take(begin, start, count)
        if wall is not None:
            return wall
        count -= counted
        begin = end
    _, wall = counter.take(begin, LAST_WALL, count)
    return LAST_WALL if wall is None else wall


def _too_large(why: str) -> ScheduleError:
    return ScheduleError(
        "count_too_large",
        f"COUNT is too large: {why}",
        hint="end the rule with UNTIL, or leave COUNT out",
    )


def _counter(rule: Recurrence, budget: Budget) -> _ByUnit | _ByDay | _BySet | _OneByOne:
    if not rule.running:
        return _BySet(rule, budget) if rule.parts.setpos else _ByDay(rule, budget)
    if rule.exact:
        return _ByUnit(rule)
    return _OneByOne(rule, budget) if DAY % rule.units.step else _ByDay(rule, budget)


class _ByUnit:
    """Where the wanted units are listed."""

    def __init__(self, rule: Recurrence) -> None:
        self._rule = rule

    def take(self, begin: int, end: int, most: int) -> tuple[int, int | None]:
        """How many times there are from `begin` up to `end`, and the `most`-th if there are so many."""
        rank = self._rank(begin)
        units, place = divmod(rank + most - 1, len(self._rule.offsets))
        wall = self._rule.units.nth(units) + self._rule.offsets[place]
        return (most, wall) if wall < end else (self._rank(end) - rank, None)

    def _rank(self, wall: int) -> int:
        units, offsets = self._rule.units, self._rule.offsets
        unit = wall - wall % self._rule.unit
        rank = units.rank(unit) * len(offsets)
        return rank + bisect_left(offsets, wall - unit) if units.at_or_after(unit) == unit else rank


class _ByDay:
    """Where every allowed day has the same times."""

    def __init__(self, rule: Recurrence, budget: Budget) -> None:
        self._rule = rule
        self._budget = budget
        self._times = _times_of_units(rule) if rule.running else rule.times

    def take(self, begin: int, end: int, most: int) -> tuple[int, int | None]:
        """As `_ByUnit.take`."""
        times, used, last = self._times, self._used(begin), end // DAY
        skip, place = divmod(used + most - 1, times.size)
        passed, day = self._pass(begin // DAY, skip, last)
        if day is not None:
            return most, day * DAY + times.nth(place)
        counted = passed * times.size + self._used(end) - used
        if counted < most:
            return counted, None
        return most, last * DAY + times.nth(place)

    def _used(self, wall: int) -> int:
        """How many times of its day come before a wall time."""
        day = wall // DAY
        return self._times.rank(wall % DAY) if self._allowed(day) == day else 0

    def _pass(self, day: int, skip: int, end: int) -> tuple[int, int | None]:
        """Pass over `skip` allowed days: how many there were before `end`, and the allowed day after them."""
        rule, budget = self._rule, self._budget
        if not rule.running and rule.parts.freq is Frequency.DAILY and rule.exact:
            rank = rule.units.rank(day * DAY)
            found = rule.units.nth(rank + skip) // DAY
            return (skip, found) if found < end else (rule.units.rank(end * DAY) - rank, None)
        by_month = rule.running or rule.parts.interval == 1 or rule.parts.freq <= Frequency.MONTHLY
        passed = 0
        allowed = self._allowed(day)
        while allowed is not None and allowed < end:
            if passed == skip:
                return passed, allowed
            budget.spend(5)  # so much longer than another step takes
            number, stop = rule.days.count_in_month(allowed, end) if by_month else (1, allowed + 1)
            if passed + number > skip:
                number, stop = 1, allowed + 1
            passed += number
            allowed = self._allowed(stop)
        return passed, None

    def _allowed(self, day: int) -> int | None:
        rule = self._rule
        return (rule.days.at_or_after if rule.running else rule.aligned_day)(day, self._budget)


class _BySet:
    """Where BYSETPOS takes times from each year, month, week or day."""

    def __init__(self, rule: Recurrence, budget: Budget) -> None:
        self._rule = rule
        self._budget = budget

    def take(self, begin: int, end: int, most: int) -> tuple[int, int | None]:
        """As `_ByUnit.take`."""
        counted = 0
        wall = self._rule.next(begin - 1, self._budget)
        while wall is not None and wall < end:
            self._budget.spend(2)
            chosen = self._rule.set_of(wall // DAY, self._budget)[2]
            place = bisect_left(chosen, wall)
            left = bisect_left(chosen, end) - place
            if counted + left >= most:
                return most, chosen[place + most - counted - 1]
            counted += left
            wall = self._rule.next(chosen[-1], self._budget)
        return counted, None


class _OneByOne:
    """Any other rule."""

    def __init__(self, rule: Recurrence, budget: Budget) -> None:
        self._rule = rule
        self._budget = budget

    def take(self, begin: int, end: int, most: int) -> tuple[int, int | None]:
        """As `_ByUnit.take`."""
        wall = begin - 1
        for number in range(most):
            self._budget.spend()
            found = self._rule.next(wall, self._budget)
            if found is None or found >= end:
                return number, None
            wall = found
        return most, wall


class _Times:
    """Times of day as the sums of heads and tails, with what `TimesOfDay` offers for counting."""

    def __init__(self, heads: Sequence[int], tails: Sequence[int]) -> None:
        self._heads = heads
        self._tails = tails
        self.size = len(heads) * len(tails)

    def nth(self, index: int) -> int:
        head, tail = divmod(index, len(self._tails))
        return self._heads[head] + self._tails[tail]

    def rank(self, time: int) -> int:
        head = bisect_right(self._heads, time) - 1
        if head < 0:
            return 0
        return head * len(self._tails) + bisect_left(self._tails, time - self._heads[head])


def _times_of_units(rule: Recurrence) -> _Times:
    """The times of one day, when INTERVAL divides the day: hour by hour if it divides the hour too."""
    origin, step, times = rule.units.origin, rule.units.step, rule.unit_times
    if 3600 % step:
        heads = [time for time in range(origin % step, DAY, step) if times.at_or_after(time) == time]
        return _Times(heads, rule.offsets)
    starts = [minute * 60 + second for minute in times.minutes for second in times.seconds]
    tails = [start + offset for start in starts if (start - origin) % step == 0 for offset in rule.offsets]
    return _Times([hour * 3600 for hour in times.hours], tails)
