"""Calendars: named sets of days and ranges that a schedule stays away from, or keeps to.

A calendar is floating: 25 December is 25 December in the zone of the schedule that excludes it. Ranges of
instants (a freeze window with an offset, an event in a zone) stay instants. What happens to an
occurrence on an excluded day is the calendar's `roll`: `skip` it, or move it to the `next` or the `previous`
allowed day at the same time of day.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from sexton.errors import ScheduleError
from sexton.schedules.wall import DAY, EPOCH_ORDINAL, LAST_WALL, Budget, Rule, to_wall
from sexton.schedules.zone import EPOCH, Zone

if TYPE_CHECKING:
    from sexton.schedules.schedule import Schedule

LONGEST_RUN = 366


class Roll(StrEnum):
    SKIP = "skip"
    NEXT = "next"
    PREVIOUS = "previous"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that recurs and lasts: excluded from each start of `schedule` for `seconds`. The times of a
    floating event are wall times of the zone in which the calendar is asked; its schedule is in UTC."""

    schedule: Schedule
    seconds: int
    whole_days: bool
    floating: bool = False


@dataclass(frozen=True, slots=True)
class Calendar:
    """A named set of excluded days and ranges; with `only`, of the allowed ones.

    `dates` are days, `ranges` pairs of days (both included) or of times (the end excluded), `schedule` covers
    every day on which it fires. All of them also as ISO-8601 text.
    """

    name: str
    dates: tuple[date | str, ...] = ()
    ranges: tuple[tuple[date | str, date | str], ...] = ()
    schedule: Schedule | None = None
    only: bool = False
    roll: str = Roll.SKIP
    events: tuple[Event, ...] = ()
    _walls: _Spans = field(init=False, repr=False, compare=False)
    _instants: _Spans = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        dates = tuple(_read_date(self.name, value) for value in self.dates)
        ranges = tuple(_read_range(self.name, value) for value in self.ranges)
        if self.roll not in tuple(Roll):
            raise _refuse(self.name, f"unknown roll {self.roll!r}", "use skip, next or previous")
        walls, instants = [(_day(value) * DAY, (_day(value) + 1) * DAY) for value in dates], []
        for start, end in ranges:
            if not isinstance(start, datetime) or not isinstance(end, datetime):
                walls.append((_day(start) * DAY, (_day(end) + 1) * DAY))
            elif start.tzinfo:
                instants.append(
                    ((start - EPOCH) // timedelta(seconds=1), -((EPOCH - end) // timedelta(seconds=1)))
                )
            else:
                walls.append((to_wall(start), to_wall(end)))
        set_ = object.__setattr__
        set_(self, "dates", dates)
        set_(self, "ranges", ranges)
        set_(self, "roll", Roll(self.roll))
        set_(self, "_walls", _Spans(walls))
        set_(self, "_instants", _Spans(instants))
        if self.roll != Roll.SKIP and not self._whole_days():
            raise _refuse(self.name, "only whole days can roll", "use roll=skip, or dates instead of times")

    @classmethod
    def from_ics(cls, name: str, text: str, *, only: bool = False, roll: str = Roll.SKIP) -> Calendar:
        """The events of an iCalendar file: each one's days, or its hours if it has times."""
        from sexton.schedules.ics import read_events

        dates, ranges, events = read_events(name, text)
        return cls(name, tuple(dates), tuple(ranges), None, only, roll, tuple(events))

    def described(self) -> list[str]:
        """Its name; without one, its days and ranges as ISO-8601 text."""
        if self.name:
            return [self.name]
        ranges = [f"{start.isoformat()}/{end.isoformat()}" for start, end in self.ranges]  # type: ignore[union-attr]
        return [day.isoformat() for day in self.dates] + ranges  # type: ignore[union-attr]

    @property
    def version(self) -> str:
        """A hash of everything in the calendar, its name aside."""
        recurring = [
            (event.schedule.timing_key, event.seconds, event.whole_days, event.floating)
            for event in self.events
        ]
        schedule = self.schedule.timing_key if self.schedule else None
        content = (self._walls.spans, self._instants.spans, schedule, self.only, str(self.roll), recurring)
        return hashlib.blake2b(repr(content).encode(), digest_size=16).hexdigest()

    def excluded_until(self, at: int, wall: int, zone: Zone) -> int | None:
        """None if the calendar allows this time; else an instant up to which it allows nothing."""
        if not self.only:
            return self._covered_until(at, wall, zone)
        return None if self._covered_until(at, wall, zone) is not None else self._next_cover(at, wall, zone)

    def excludes_day(self, day: int) -> bool:
        """For rolling: whole days only."""
        wall = day * DAY
        covered = (
            self._walls.end_of(wall) is not None
            or (self.schedule is not None and _fires_on(self.schedule, day))
            or any(event.schedule.covers_wall(wall, event.seconds) for event in self.events)
        )
        return covered != self.only

    def _covered_until(self, at: int, wall: int, zone: Zone) -> int | None:
        end = self._walls.end_of(wall)
        if end is not None:
            return zone.first_instant(end)
        end = self._instants.end_of(at)
        if end is not None:
            return end
        if self.schedule is not None and _fires_on(self.schedule, wall // DAY):
            return zone.first_instant((wall // DAY + 1) * DAY)
        for event in self.events:
            if event.whole_days:
                if event.schedule.covers_wall(wall, event.seconds):
                    return zone.first_instant((wall // DAY + 1) * DAY)
            else:
                now = wall if event.floating else at
                start = event.schedule.next_after(EPOCH + timedelta(seconds=now - event.seconds))
                if start is not None and (begun := (start - EPOCH) // timedelta(seconds=1)) <= now:
                    end = begun + event.seconds
                    return zone.first_instant(end) if event.floating else end
        return None

    def _next_cover(self, at: int, wall: int, zone: Zone) -> int:
        """With `only`: when the next allowed time begins. Days that recur are looked for day by day."""
        starts = [LAST_WALL]
        if (start := self._walls.next_start(wall)) is not None:
            starts.append(zone.first_instant(start))
        if (start := self._instants.next_start(at)) is not None:
            starts.append(start)
        if self.schedule is not None or self.events:
            starts.append(zone.first_instant((wall // DAY + 1) * DAY))
            for event in self.events:
                now = wall if event.floating else at
                following = None if event.whole_days else event.schedule.next_after(EPOCH + timedelta(0, now))
                if following is not None:
                    begins = (following - EPOCH) // timedelta(seconds=1)
                    starts.append(zone.first_instant(begins) if event.floating else begins)
        return max(min(starts), at + 1)

    def _whole_days(self) -> bool:
        return (
            not self._instants.spans
            and all(start % DAY == 0 and end % DAY == 0 for start, end in self._walls.spans)
            and all(event.whole_days for event in self.events)
        )


class Rolled(Rule):
    """A rule whose times on excluded days are moved to the next or the previous allowed day."""

    def __init__(self, rule: Rule, calendar: Calendar) -> None:
        self.rule = rule
        self.calendar = calendar
        self.running = rule.running
        self.first = rule.first - (LONGEST_RUN * DAY if calendar.roll == Roll.PREVIOUS else 0)

    def next(self, wall: int, budget: Budget) -> int | None:
        """On an allowed day come its own times and those of the excluded days that roll onto it."""
        excluded = self.calendar.excludes_day
        forward = self.calendar.roll == Roll.NEXT
        while True:
            day, time = divmod(wall + 1, DAY)
            if not excluded(day):
                found = self._time_on(day, time, budget)
                if found is not None:
                    return found
            elif forward:
                landing = self._land(day, 1, budget)
                if landing is not None:
                    wall = landing * DAY - 1
                    continue
            # Nothing more on this day: on to the day that the rule's next time lands on.
            budget.spend()
            after = (day + 1) * DAY - 1
            if not forward:
                while excluded((after + 1) // DAY) and not excluded(day):  # their times are on this day
                    budget.spend()
                    after += DAY
            following = self.rule.next(after, budget)
            if following is None:
                return None
            target = self._land(following // DAY, 1 if forward else -1, budget)
            if target is None:
                wall = (following // DAY + 1) * DAY - 1
            else:
                wall = max(target, day + 1) * DAY - 1

    def _land(self, day: int, step: int, budget: Budget) -> int | None:
        for _ in range(LONGEST_RUN):
            if not self.calendar.excludes_day(day):
                return day
            budget.spend()
            day += step
        return None

    def _time_on(self, day: int, time: int, budget: Budget) -> int | None:
        """The first time from `time` on among this day's and those of the excluded days beside it."""
        step = -1 if self.calendar.roll == Roll.NEXT else 1
        best: int | None = None
        source = day
        for _ in range(LONGEST_RUN):
            found = self.rule.next(source * DAY + time - 1, budget)
            if found is not None and found // DAY == source:
                best = found % DAY if best is None else min(best, found % DAY)
            source += step
            if not self.calendar.excludes_day(source):
                break
            budget.spend()
        return None if best is None else day * DAY + best

    def canonical(self) -> tuple[object, ...]:
        return ("rolled", self.rule.canonical(), self.calendar.version)

    def words(self) -> str:
        return self.rule.words()


class _Spans:
    """Half-open ranges of numbers, merged where they touch."""

    __slots__ = ("_starts", "spans")

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        self.spans = tuple(merged)
        self._starts = [start for start, _ in merged]

    def end_of(self, number: int) -> int | None:
        """The end of the span that holds a number."""
        place = bisect_right(self._starts, number) - 1
        return self.spans[place][1] if place >= 0 and number < self.spans[place][1] else None

    def next_start(self, number: int) -> int | None:
        place = bisect_right(self._starts, number)
        return self._starts[place] if place < len(self._starts) else None


def _fires_on(schedule: Schedule, day: int) -> bool:
    return schedule.covers_wall((day + 1) * DAY - 1, DAY)


def _day(value: date) -> int:
    return value.toordinal() - EPOCH_ORDINAL


def _read_date(name: str, value: object) -> date:
    if isinstance(value, datetime):
        raise _refuse(name, f"{value} is a time, not a day", "give a range of two times")
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise _refuse(name, f"{value!r} is not a date", "write 2026-12-25") from None


def _read_range(name: str, value: tuple[object, object]) -> tuple[date, date]:
    try:
        start, end = (_read_edge(name, edge) for edge in value)
    except (TypeError, ValueError) as error:
        raise _refuse(name, f"{value!r} is not a range", "give a pair of dates or of times") from error
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise _refuse(name, f"{start} to {end} mixes a day and a time", "give two days or two times")
    if (
        isinstance(start, datetime)
        and isinstance(end, datetime)
        and (start.tzinfo is None) != (end.tzinfo is None)
    ):
        raise _refuse(name, f"{start} to {end} has one offset", "give both times an offset, or neither")
    if end < start:
        raise _refuse(name, f"{start} to {end} ends before it begins", "put the earlier one first")
    return start, end


def _read_edge(name: str, value: object) -> date:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value
    if isinstance(value, date) or len(str(value)) <= 10:
        return _read_date(name, value)
    moment = datetime.fromisoformat(str(value))
    return moment.astimezone(UTC) if moment.tzinfo else moment


def _refuse(name: str, what: str, hint: str) -> ScheduleError:
    where = f"calendar {name!r}" if name else "exclude"
    return ScheduleError("bad_calendar", f"{where}: {what}", field="exclude", hint=hint)
