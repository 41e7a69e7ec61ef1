"""The units that INTERVAL reaches: days, hours, minutes or seconds at a fixed distance.

A unit `origin + k * step` is wanted if its weekday and its time of day are. Both repeat every week, so the
wanted `k` repeat too. By the Chinese remainder theorem each wanted time has exactly one `k` in a cycle, or
none if no step ever reaches it. Once these are listed, every question is answered by arithmetic.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Sequence

from sexton.schedules.wall import DAY, TimesOfDay, day_of_weekday

WEEK = 7 * DAY

# Above this a list would cost too much, and wanted units are so frequent that walking finds one soon.
LONGEST_LIST = 4_096


class Progression:
    """The wanted units. `size` of each `points` units in a row are wanted: 0 of them if none ever is."""

    __slots__ = ("_wanted", "origin", "points", "size", "step")

    def __init__(
        self, origin: int, step: int, unit: int, weekdays: Collection[int], times: TimesOfDay
    ) -> None:
        """`times` are starts of units; no `weekdays` means all of them."""
        self.origin = origin
        self.step = step
        heads, tails, modulus = _residues(unit, weekdays, times)
        common = math.gcd(step, modulus)
        self.points = modulus // common
        by_remainder: dict[int, list[int]] = {}
        for tail in tails:
            by_remainder.setdefault(tail % common, []).append(tail)
        matching = [(head, by_remainder.get((origin - head) % common, ())) for head in heads]
        self.size = sum(len(tails) for _, tails in matching)
        self._wanted: Sequence[int] = ()
        if 0 < self.size < self.points and self.size <= LONGEST_LIST:
            inverse = pow(step // common, -1, self.points)
            places = (
                (head + tail - origin) // common * inverse % self.points
                for head, tails in matching
                for tail in tails
            )
            self._wanted = array("l", sorted(places))

    @property
    def listed(self) -> bool:
        """Whether the wanted units are known one by one; otherwise `at_or_after` knows the step alone."""
        return self.size == self.points or bool(self._wanted)

    def at_or_after(self, wall: int) -> int:
        """The first wanted unit from a wall time on; only the next in step unless `listed`."""
        number = -((self.origin - wall) // self.step)
        if self._wanted:
            cycle, place = divmod(number, self.points)
            index = bisect_left(self._wanted, place)
            if index == self.size:
                cycle, index = cycle + 1, 0
            number = cycle * self.points + self._wanted[index]
        return self.origin + number * self.step

    def rank(self, wall: int) -> int:
        """How many wanted units begin from the origin up to a wall time: only differences have a meaning."""
        number = -((self.origin - wall) // self.step)
        if not self._wanted:
            return number
        cycle, place = divmod(number, self.points)
        return cycle * self.size + bisect_left(self._wanted, place)

    def nth(self, rank: int) -> int:
        """The wanted unit of that rank."""
        if self._wanted:
            cycle, index = divmod(rank, self.size)
            rank = cycle * self.points + self._wanted[index]
        return self.origin + rank * self.step


def _residues(
    unit: int, weekdays: Collection[int], times: TimesOfDay
) -> tuple[Sequence[int], Sequence[int], int]:
    """Every wanted start of a unit as the sum of a head (day and hour) and a tail (minute and second), modulo
    the shortest time after which they repeat."""
    all_days = not 0 < len(weekdays) < 7
    if all_days and (unit == DAY or len(times.hours) == 24):
        if unit >= 3600:
            return [0], [0], unit
        if len(times.minutes) == 60:
            return [0], times.seconds if unit == 1 else [0], 60
        heads, modulus = [0], 3600
    elif all_days:
        heads, modulus = [hour * 3600 for hour in times.hours], DAY
    else:
        days = [day_of_weekday(weekday) * DAY for weekday in weekdays]
        heads, modulus = [day + hour * 3600 for day in days for hour in times.hours], WEEK
    return heads, [minute * 60 + second for minute in times.minutes for second in times.seconds], modulus
