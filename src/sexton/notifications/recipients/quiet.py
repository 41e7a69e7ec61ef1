"""Quiet hours: ranges of the week, in the recipient's local time, in which no message is sent.

It is quiet whenever the recipient's clock shows a quiet time. When clocks go back, this applies to both times
at which the clock shows it; when they go forward, the skipped times do not exist.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import msgspec

from sexton.errors import InvalidField
from sexton.notifications.spec import QuietRange
from sexton.schedules.wall import DAY, weekday_of
from sexton.schedules.zone import EPOCH, Zone

MINUTE = 60
WEEK = 7
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = frozenset(range(WEEK))
TIME = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])")
# The most steps of a search. They suffice, because quiet hours that fill the whole week are refused.
MOST_STEPS = 64


class DayRange(NamedTuple):
    """Seconds of the day from `start` up to `end`. If the end is not after the start, it is on the next
    day."""

    start: int
    end: int
    days: frozenset[int]

    def holds(self, weekday: int, second: int) -> bool:
        if self.start < self.end:
            return weekday in self.days and self.start <= second < self.end
        return (weekday in self.days and second >= self.start) or (
            (weekday - 1) % WEEK in self.days and second < self.end
        )


Ranges = tuple[DayRange, ...]


@lru_cache(maxsize=4096)
def ranges_of(text: str) -> Ranges:
    """Ranges from stored JSON."""
    return read_ranges(msgspec.json.decode(text, type=QuietRange | list[QuietRange] | None))


def read_ranges(spec: QuietRange | list[QuietRange] | None, field: str = "quiet_hours") -> Ranges:
    """Ranges from a specification. Raises `InvalidField`."""
    given = [] if spec is None else spec if isinstance(spec, list) else [spec]
    ranges = tuple(
        _read(each, field if given is not spec else f"{field}[{n}]") for n, each in enumerate(given)
    )
    if ranges and all(is_quiet(ranges, minute * MINUTE) for minute in range(WEEK * 24 * 60)):
        raise InvalidField(
            "always_quiet",
            "the quiet hours take up the whole week",
            field=field,
            hint="leave some time free, or use opt_outs for unwanted messages",
        )
    return ranges


def is_quiet(ranges: Ranges, wall: int) -> bool:
    """Whether it is quiet when the wall clock shows `wall`."""
    day, second = divmod(wall, DAY)
    weekday = weekday_of(day)
    return any(each.holds(weekday, second) for each in ranges)


def quiet_until(ranges: Ranges, place: Zone, at: int) -> int | None:
    """The end of the quiet hours at an instant; None if it is not quiet."""
    if not is_quiet(ranges, at + place.period(at).offset):
        return None
    for _ in range(MOST_STEPS):
        period = place.period(at)
        wall = at + period.offset
        if not is_quiet(ranges, wall):
            return at
        # Go to the end of a present range, or to a clock change before it.
        at = min(_end(ranges, wall) - period.offset, period.end)
    raise AssertionError("quiet hours without an end were accepted")


def open_from(ranges: Ranges, place: Zone, at: int) -> int | None:
    """The start of the next range, if the instant is in none of them; None if it is in one."""
    if not ranges or is_quiet(ranges, at + place.period(at).offset):
        return None
    for _ in range(MOST_STEPS * WEEK):
        period = place.period(at)
        wall = at + period.offset
        if is_quiet(ranges, wall):
            return at
        at = min(_start(ranges, wall) - period.offset, period.end)
    raise AssertionError("ranges without a beginning were accepted")


def instant(at: int) -> datetime:
    return EPOCH + timedelta(seconds=at)


def _end(ranges: Ranges, wall: int) -> int:
    """The end of a present range, on the wall clock."""
    day, second = divmod(wall, DAY)
    weekday = weekday_of(day)
    held = [each for each in ranges if each.holds(weekday, second)]
    return min(
        day * DAY + each.end + (DAY if each.end <= each.start and second >= each.start else 0)
        for each in held
    )


def _start(ranges: Ranges, wall: int) -> int:
    """The next start of a range, on the wall clock."""
    day = wall // DAY
    return min(
        found
        for each in ranges
        for later in range(WEEK + 1)
        if weekday_of(day + later) in each.days and (found := (day + later) * DAY + each.start) > wall
    )


def _read(spec: QuietRange, field: str) -> DayRange:
    start, end = _seconds(spec.start, f"{field}.start"), _seconds(spec.end, f"{field}.end")
    if start == end:
        raise InvalidField(
            "empty_range",
            f"the quiet hours begin and end at {spec.start}",
            field=f"{field}.end",
            hint="for a whole day write 00:00 to 24:00",
        )
    if start == DAY:
        raise InvalidField(
            "bad_time",
            "the quiet hours begin at 24:00",
            field=f"{field}.start",
            hint="write 00:00 of the next day",
        )
    return DayRange(start, end, EVERY_DAY if spec.days is None else _days(spec.days, f"{field}.days"))


def _seconds(text: str, field: str) -> int:
    found = TIME.fullmatch(text)
    if found is None or (found[1] == "24" and found[2] != "00"):
        raise InvalidField("bad_time", f"{text!r} is not a time of day", field=field, hint="such as 22:00")
    return int(found[1]) * 3600 + int(found[2]) * 60


def _days(names: list[str], field: str) -> frozenset[int]:
    days = set()
    for name in names:
        if name.lower()[:3] not in WEEKDAYS or len(name) < 3:
            raise InvalidField(
                "bad_day",
                f"{name!r} is not a day of the week",
                field=field,
                hint=f"use {', '.join(WEEKDAYS)}",
            )
        days.add(WEEKDAYS.index(name.lower()[:3]))
    if not days:
        raise InvalidField("empty", "days is empty", field=field, hint="leave days out for every day")
    return frozenset(days)
