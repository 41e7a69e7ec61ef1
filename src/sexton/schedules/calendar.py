"""Calendars: named sets of days and ranges that a schedule avoids, or keeps to.

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

# What it costs to ask whether a day is excluded.
DAY_STEPS = 3


class Roll(StrEnum):
    SKIP = "skip"
    NEXT = "next"
    PREVIOUS = "previous"


@dataclass(frozen=True, slots=True)
class Event:
    """A recurring event: it excludes `seconds` from each start of `schedule` on. The times of a floating
    event are wall times of the zone of the schedule that asks; its own schedule is in UTC."""

    schedule: Schedule
    seconds: int
    whole_days: bool
    floating: bool = False


@dataclass(frozen=True, slots=True)
class Calendar:
    """A named set of excluded days and ranges; with `only`, of the allowed ones.

    `dates` are days, `ranges` pairs of days (both included) or of times (the end excluded), `schedule` covers
    every day on which it fires. All of them also as ISO-8601 text. `roll` says where an excluded occurrence
    goes: `skip` (it is left out), `next` or `previous` (to the nearest allowed day).

        >>> closed = Calendar("closed", dates=("2026-12-25",))
        >>> parse("@daily", exclude=[closed]).next_after(datetime(2026, 12, 24, 12, tzinfo=UTC)).day
        26
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
            raise refuse(self.name, f"unknown roll {self.roll!r}", "use skip, next or previous")
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
            raise refuse(self.name, "only whole days can roll", "use roll=skip, or dates instead of times")

    @classmethod
    def from_ics(cls, name: str, text: str, *, only: bool = False, roll: str = Roll.SKIP) -> Calendar:
        """The events of an iCalendar file: each one's days, or its hours if it has times."""
        from sexton.schedules.ics import read_events

        dates, ranges, events = read_events(name, text)
        return cls(name, tuple(dates), tuple(ranges), None, only, roll, tuple(events))

    def described(self) -> list[str]:
        """The calendar's name; without one, its days and ranges as ISO-8601 text."""
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

    def excluded_until(self, at: int, wall: int, zone: Zone, budget: Budget) -> int | None:
        """None if the calendar allows this time; else an instant before which it allows no other."""
        until = self._covered_until(at, wall, zone, budget)
        if self.only:
            return self._next_cover(at, wall, zone, budget) if until is None else None
        return until

    def excludes_day(self, day: int, budget: Budget) -> bool:
        """For rolling: whole days only."""
        return (self._day_covered_until(day, budget) is not None) != self.only

    def allowed_day(self, day: int, budget: Budget) -> int | None:
        """For rolling: the first allowed day from `day` on."""
        while True:
            if day * DAY > budget.last:
                return None
            end = self._day_covered_until(day, budget)
            if not self.only:
                if end is None:
                    return day
                day = end
            elif end is not None:
                return day
            else:
                starts = [self._walls.next_start(day * DAY)]
                starts += [schedule.next_wall(day * DAY, budget) for schedule in self._schedules()]
                following = min((start for start in starts if start is not None), default=None)
                if following is None:
                    return None
                day = following // DAY
            budget.spend(DAY_STEPS)

    def _day_covered_until(self, day: int, budget: Budget) -> int | None:
        """The end of the covered days around `day`; more of them may follow it directly."""
        end = self._walls.end_of(day * DAY)
        if end is not None:
            return end // DAY
        return day + 1 if self._recurs_on(day * DAY, budget) else None

    def _recurs_on(self, wall: int, budget: Budget) -> bool:
        """Whether the schedule or an event of whole days covers the day of a wall time."""
        day = wall // DAY
        if self.schedule is not None and self.schedule.covers_wall((day + 1) * DAY - 1, DAY, budget):
            return True
        return any(
            event.whole_days and event.schedule.covers_wall(wall, event.seconds, budget)
            for event in self.events
        )

    def _covered_until(self, at: int, wall: int, zone: Zone, budget: Budget) -> int | None:
        span = self._walls.span_of(wall)
        if span is not None:
            return zone.leaves(at, *span)
        end = self._instants.end_of(at)
        if end is not None:
            return end
        if self._recurs_on(wall, budget):
            day = wall // DAY * DAY
            return zone.leaves(at, day, day + DAY)
        for event in self.events:
            if not event.whole_days:
                now = wall if event.floating else at
                begun = event.schedule.next_instant(now - event.seconds, budget)
                if begun is not None and begun <= now:
                    end = begun + event.seconds
                    return zone.leaves(at, begun, end) if event.floating else end
        return None

    def _next_cover(self, at: int, wall: int, zone: Zone, budget: Budget) -> int:
        """With `only`: when the next allowed time begins."""
        walls = [self._walls.next_start(wall)]
        instants = [self._instants.next_start(at)]
        if self.schedule is not None:
            following = self.schedule.next_wall(wall, budget)
            walls.append(None if following is None else following // DAY * DAY)
        for event in self.events:
            if event.whole_days:
                walls.append(event.schedule.next_wall(wall, budget))
            elif event.floating:
                walls.append(event.schedule.next_instant(wall, budget))
            else:
                instants.append(event.schedule.next_instant(at, budget))
        starts = [start for start in instants if start is not None]
        # Where the clock goes back to before now, it may show an allowed time once more.
        period = zone.period(at)
        if period.after < period.offset and period.end + period.after <= wall:
            starts.append(period.end)
        starts += [zone.first_instant(start) for start in walls if start is not None]
        return max(min(starts, default=LAST_WALL), at + 1)

    def _schedules(self) -> list[Schedule]:
        """The schedules whose nominal times begin a covered day."""
        events = [event.schedule for event in self.events]
        return events if self.schedule is None else [self.schedule, *events]

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
        # What was found last: `previous_before` asks for the same again and again.
        self._latest_run = range(0)
        self._latest_time: tuple[int, int, int | None] = (0, -1, None)

    def next(self, wall: int, budget: Budget) -> int | None:
        """On an allowed day come its own times and those of the excluded days that roll onto it."""
        last = budget.last
        # Whole days, so that what is kept of a day is complete.
        budget.last = min(last // DAY * DAY + DAY - 1, LAST_WALL)
        if self.calendar.roll == Roll.NEXT:
            found = self._next_forward(wall, budget)
        else:  # times that roll back come from later days
            budget.last = min(budget.last + LONGEST_RUN * DAY, LAST_WALL)
            found = self._next_backward(wall, last, budget)
        budget.last = last
        return found

    def _next_forward(self, wall: int, budget: Budget) -> int | None:
        while True:
            day, time = divmod(wall + 1, DAY)
            allowed = self.calendar.allowed_day(day, budget)
            if allowed is None or allowed * DAY > budget.last:
                return None
            budget.spend(DAY_STEPS)
            time = time if allowed == day else 0
            found = self._time_on(allowed, time, self._excluded_before(allowed, budget), budget)
            if found is not None:
                return found
            following = self.rule.next((allowed + 1) * DAY - 1, budget)
            if following is None:
                return None
            wall = following // DAY * DAY - 1

    def _next_backward(self, wall: int, last: int, budget: Budget) -> int | None:
        while True:
            day, time = divmod(wall + 1, DAY)
            if day * DAY > last:
                return None
            budget.spend(DAY_STEPS)
            after = self.calendar.allowed_day(day + 1, budget)
            if not self.calendar.excludes_day(day, budget):
                end = day + LONGEST_RUN if after is None else min(after, day + LONGEST_RUN)
                found = self._time_on(day, time, range(day + 1, end), budget)
                if found is not None:
                    return found
            # Nothing more lands before the next allowed day: on to where the rule's next time lands.
            source = None if after is None else self.rule.next(after * DAY - 1, budget)
            if source is None:
                return None
            target = source // DAY
            if self.calendar.excludes_day(target, budget):
                run = self._excluded_before(target, budget)
                if len(run) < LONGEST_RUN - 1:
                    target = run.start - 1
            wall = target * DAY - 1

    def _excluded_before(self, day: int, budget: Budget) -> range:
        """The run of excluded days that ends right before `day`, as far as a time may roll."""
        run = self._latest_run
        if run.stop != day:
            run = range(day - LONGEST_RUN + 1, day)
            allowed = self.calendar.allowed_day(run.start, budget) if self.calendar.only else None
            if allowed is None or allowed < day:
                first = day
                while first > run.start and self.calendar.excludes_day(first - 1, budget):
                    budget.spend(DAY_STEPS)
                    first -= 1
                run = range(first, day)
            self._latest_run = run
        return run

    def _time_on(self, day: int, time: int, excluded: range, budget: Budget) -> int | None:
        """The first time from `time` on among this day's and those of the excluded days that roll onto it."""
        if self._latest_time[:2] == (day, time):
            return self._latest_time[2]
        best: int | None = None
        for first, end in ((day, day + 1), (excluded.start, excluded.stop)):
            source = first
            while source < end and best != time:
                found = self.rule.next(source * DAY + time - 1, budget)
                if found is None or found // DAY >= end:
                    break
                if found // DAY == source:
                    best = found % DAY if best is None else min(best, found % DAY)
                    source += 1
                else:
                    source = found // DAY
                budget.spend()
        answer = None if best is None else day * DAY + best
        self._latest_time = (day, time, answer)
        return answer

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

    def span_of(self, number: int) -> tuple[int, int] | None:
        """The span that holds a number."""
        place = bisect_right(self._starts, number) - 1
        return self.spans[place] if place >= 0 and number < self.spans[place][1] else None

    def end_of(self, number: int) -> int | None:
        span = self.span_of(number)
        return None if span is None else span[1]

    def next_start(self, number: int) -> int | None:
        place = bisect_right(self._starts, number)
        return self._starts[place] if place < len(self._starts) else None


def _day(value: date) -> int:
    return value.toordinal() - EPOCH_ORDINAL


def _read_date(name: str, value: object) -> date:
    if isinstance(value, datetime):
        raise refuse(name, f"{value} is a time, not a day", "give a range of two times")
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise refuse(name, f"{value!r} is not a date", "write 2026-12-25") from None


def _read_range(name: str, value: tuple[object, object]) -> tuple[date, date]:
    try:
        start, end = (_read_edge(name, edge) for edge in value)
    except (TypeError, ValueError) as error:
        raise refuse(name, f"{value!r} is not a range", "give a pair of dates or of times") from error
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise refuse(name, f"{start} to {end} mixes a day and a time", "give two days or two times")
    if len({edge.tzinfo is None for edge in (start, end) if isinstance(edge, datetime)}) > 1:
        raise refuse(name, f"{start} to {end} has one offset", "give both times an offset, or neither")
    if end < start:
        raise refuse(name, f"{start} to {end} ends before it begins", "put the earlier one first")
    return start, end


def _read_edge(name: str, value: object) -> date:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value
    if isinstance(value, date) or len(str(value)) <= 10:
        return _read_date(name, value)
    moment = datetime.fromisoformat(str(value))
    return moment.astimezone(UTC) if moment.tzinfo else moment


def refuse(name: str, what: str, hint: str) -> ScheduleError:
    where = f"calendar {name!r}" if name else "exclude"
    return ScheduleError("bad_calendar", f"{where}: {what}", field="exclude", hint=hint)
