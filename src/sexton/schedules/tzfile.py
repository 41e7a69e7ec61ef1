"""When the clock of a zone changes, read from its file in the zone database (RFC 8536).

A file lists the changes up to some year. After those, its last line may be a rule for every later year.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from sexton.schedules.wall import DAY, EPOCH_ORDINAL, FIRST_WALL, LAST_WALL, month_length, weekday_of

# Before and after every instant that is asked for.
BEGINNING = -(10**12)
END = LAST_WALL + 10 * DAY

# Changes that follow a rule are made for this many years at a time.
BLOCK = 8
YEAR = 31_556_952  # seconds, on average

# The counts of a block's parts; before them are four letters, the version and 15 unused bytes.
COUNTS = struct.Struct(">20x6l")

NAME = r"(?:<[^>]+>|[A-Za-z]+)"
RULE = re.compile(rf"{NAME}([-+:0-9]+){NAME}([-+:0-9]+)?,([^,/]+)(?:/([^,]+))?,([^,/]+)(?:/([^,]+))?")

# An instant, and the offset from then on.
ClockChange = tuple[int, int]


class Changes:
    """The clock changes of a zone, in order."""

    def __init__(
        self, first_offset: int, listed: Iterable[ClockChange], rule: YearlyChange | None = None
    ) -> None:
        """The clock starts with `first_offset`; `rule` holds after the listed changes."""
        start, listed = (BEGINNING, first_offset), list(listed)
        changes = [start, start, *_real(first_offset, listed)]
        self._listed = _columns(changes)
        self._latest = changes[-2:]
        self._rule = rule
        self._rule_from = listed[-1][0] if listed else FIRST_WALL
        self._blocks: dict[int, tuple[list[int], list[int]]] = {}

    def around(self, at: int) -> tuple[list[int], list[int]]:
        """The instants and the offsets of some changes in order: two or more up to `at`, some after."""
        if at < self._latest[-1][0]:
            return self._listed
        number = 0 if self._rule is None else max(min(at, LAST_WALL), self._rule_from) // (BLOCK * YEAR)
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = self._make_block(1970 + number * BLOCK)
        return block

    def _make_block(self, year: int) -> tuple[list[int], list[int]]:
        """The changes of BLOCK years and of two more on either side, since years differ in length."""
        block, ended = [*self._latest], True
        if self._rule is not None:
            years = range(max(year - 2, 1), min(year + BLOCK + 2, 9999) + 1)
            ruled = (change for each in years for change in self._rule.changes_in(each))
            block += _real(block[-1][1], (change for change in ruled if change[0] > self._rule_from))
            ended = years[-1] == 9999
        if ended:
            block += [(END, block[-1][1]), (-BEGINNING, block[-1][1])]
        return _columns(block)


class Day(NamedTuple):
    """A day of every year: the `week`-th weekday (0 is Sunday) of a month, the fifth being the last."""

    month: int
    week: int
    weekday: int

    def of(self, year: int) -> int:
        first = date(year, self.month, 1).toordinal() - EPOCH_ORDINAL
        day = first + (self.weekday - 1 - weekday_of(first)) % 7 + 7 * (self.week - 1)
        return day if day < first + month_length(year, self.month) else day - 7


class NumberedDay(NamedTuple):
    """A day of every year by its number from 0; 29 February is not counted, or is."""

    number: int
    leap: bool

    def of(self, year: int) -> int:
        first = date(year, 1, 1).toordinal() - EPOCH_ORDINAL
        after_february = not self.leap and self.number >= 59 and month_length(year, 2) == 29
        return first + self.number + after_february


class YearlyChange(NamedTuple):
    """Summer time from `start` to `end` in every year: each a day, and its second on the clock until then."""

    standard: int
    summer: int
    start: tuple[Day | NumberedDay, int]
    end: tuple[Day | NumberedDay, int]

    def changes_in(self, year: int) -> list[ClockChange]:
        begins, ends = (day.of(year) * DAY + time for day, time in (self.start, self.end))
        return sorted([(begins - self.standard, self.summer), (ends - self.summer, self.standard)])


def read_changes(data: bytes) -> Changes:
    """Read a zone file: the second of its two blocks, which has 64 bits for each instant."""
    position = _size(data, 0, 4)
    *_, times, types, _ = COUNTS.unpack_from(data, position)
    end = position + _size(data, position, 8)
    position += COUNTS.size
    instants = struct.unpack_from(f">{times}q", data, position)
    position += 8 * times
    kinds = data[position : position + times]
    offsets = [struct.unpack_from(">l", data, position + times + 6 * kind)[0] for kind in range(types)]
    rule = read_rule(data[end:].decode().strip())
    return Changes(offsets[0], zip(instants, [offsets[kind] for kind in kinds], strict=True), rule)


def _size(data: bytes, position: int, width: int) -> int:
    """How long a block is, when an instant takes `width` bytes."""
    counts: tuple[int, ...] = COUNTS.unpack_from(data, position)
    in_utc, standard, leaps, times, types, letters = counts
    return COUNTS.size + times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard + in_utc


def read_rule(text: str) -> YearlyChange | None:
    """`EST5EDT,M3.2.0,M11.1.0`: hours west of UTC, the days, and times of day that are 2:00 if not given."""
    match = RULE.fullmatch(text)
    if match is None:
        return None
    standard, summer, start, start_time, end, end_time = match.groups()
    offset = -_seconds(standard)
    return YearlyChange(
        offset,
        offset + 3600 if summer is None else -_seconds(summer),
        (_read_day(start), _seconds(start_time or "2")),
        (_read_day(end), _seconds(end_time or "2")),
    )


def _read_day(text: str) -> Day | NumberedDay:
    if text.startswith("M"):
        month, week, weekday = map(int, text[1:].split("."))
        return Day(month, week, weekday)
    return NumberedDay(int(text.removeprefix("J")) - text.startswith("J"), not text.startswith("J"))


def _seconds(text: str) -> int:
    """`-3:30` as seconds."""
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    seconds = sum(part * size for part, size in zip(parts, (3600, 60, 1), strict=False))
    return -seconds if text.startswith("-") else seconds


def _columns(changes: Iterable[ClockChange]) -> tuple[list[int], list[int]]:
    instants, offsets = zip(*changes, strict=True)
    return list(instants), list(offsets)


def _real(offset: int, changes: Iterable[ClockChange]) -> list[ClockChange]:
    """Without those that keep the offset: there, only the name of the time changes."""
    real = []
    for at, new in changes:
        if new != offset:
            real.append((at, new))
            offset = new
    return real
