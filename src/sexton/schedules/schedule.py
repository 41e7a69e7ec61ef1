"""A schedule: a rule in a zone, under a policy for clock changes, within bounds and around calendars.

    wall.Rule  ──►  zone.Mapping  ──►  Schedule
    which wall      which instants,    which of them count
    times match     gap and fold

Pure: no state, no clock. The same question always has the same answer.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from sexton.clock import iso
from sexton.errors import ScheduleError
from sexton.schedules.calendar import Calendar, Roll, Rolled
from sexton.schedules.explanation import explain
from sexton.schedules.key import hashed
from sexton.schedules.move import Move
from sexton.schedules.occurrence import Occurrence, change_note
from sexton.schedules.wall import DAY, FIRST_WALL, LAST_WALL, STEPS, Budget, Rule
from sexton.schedules.zone import EPOCH, WIDEST, Change, Fold, Gap, Hit, Mapping, Zone, zone

SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)
NOTHING: frozenset[int] = frozenset()

# What an exclusion costs: asking the calendar, and continuing after it.
EXCLUSION_STEPS = 10


@dataclass(frozen=True, slots=True)
class Dates:
    """Times added to a rule (RDATE) or struck from it (EXDATE)."""

    walls: frozenset[int] = NOTHING
    instants: frozenset[int] = NOTHING
    days: frozenset[int] = NOTHING
    #: The instants at which the clock shows `walls`.
    wall_instants: frozenset[int] = NOTHING


@dataclass(frozen=True, slots=True)
class Options:
    """What a schedule was made with beside its text. A naive anchor is wall time."""

    timezone: str = "UTC"
    anchor: datetime | None = None
    gap: Gap | None = None
    fold: Fold | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    exclude: tuple[Calendar, ...] = ()
    key: str | None = None
    seconds: str | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Made by `parse`: when something happens. It never changes, and asks no clock."""

    #: `cron`, `recurrence`, `interval` or `once`.
    kind: str
    #: What was read.
    text: str
    options: Options
    mappings: tuple[Mapping, ...]
    #: Only instants up to here come from the first mapping (UNTIL in UTC).
    until: int | None = None
    struck: Dates = Dates()
    needs_anchor: bool = False
    fraction: timedelta = timedelta(0)
    move: Move | None = None
    #: Plain sentences: where another reading of the text is likely. They do not change an answer.
    warnings: tuple[str, ...] = ()
    zone: Zone = field(init=False)
    #: Schedules with equal keys give equal answers.
    timing_key: str = field(init=False)
    _low: int = field(init=False)
    _high: int | None = field(init=False)
    _plain: bool = field(init=False)
    _simple: bool = field(init=False)

    def __post_init__(self) -> None:
        set_, options = object.__setattr__, self.options
        set_(self, "zone", zone(options.timezone))
        low = FIRST_WALL if options.starts_at is None else self._floor(options.starts_at - MICROSECOND)
        set_(self, "_low", low)
        set_(self, "_high", None if options.ends_at is None else self._floor(options.ends_at))
        bounds = (self.until, self._high, self.move)
        plain = len(self.mappings) == 1 and bounds == (None, None, None) and self.struck == Dates()
        set_(self, "_plain", plain)
        set_(self, "_simple", plain and not options.exclude and not self.needs_anchor)
        set_(self, "timing_key", self._make_timing_key())

    @property
    def timezone(self) -> str:
        """The name of its zone."""
        return self.options.timezone

    @property
    def anchor(self) -> datetime | None:
        """Where intervals and recurrences without a start of their own begin; None if it was not given."""
        return self.options.anchor

    @property
    def gap(self) -> str:
        """What happens to local times that do not exist, when clocks go forward: `after`, `shift`, `skip`."""
        return self.mappings[0].gap.value

    @property
    def fold(self) -> str:
        """What happens to local times that exist twice, when clocks go back: `first`, `second` or `both`."""
        return self.mappings[0].fold.value

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence strictly after an instant; None if there is none.

        >>> schedule = parse("0 9 * * 1", timezone="America/New_York")
        >>> schedule.next_after(datetime(2026, 6, 2, tzinfo=UTC)).isoformat()
        '2026-06-08T13:00:00+00:00'
        """
        at = self._floor(_aware(instant, "instant"))
        if self._simple and at >= self._low:
            found = self.mappings[0].first_undisturbed(at, Budget())
            if found is not None:
                return self._instant(found)
        following = self.next_instant(at, Budget())
        return None if following is None else self._instant(following)

    def previous_before(self, instant: datetime) -> datetime | None:
        """The last occurrence strictly before an instant; None if there is none."""
        # The search goes back in growing steps, then narrows down what is left. Each step looks only at that,
        # so all of them together cost little.
        last, rest = divmod(_aware(instant, "instant") - EPOCH - self.fraction, SECOND)
        if not rest:
            last -= 1
        firsts = [mapping.rule.first - WIDEST for mapping in self.mappings]
        if self.move is not None:
            firsts.append(self._floor(self.move.to))
        earliest = max(min(firsts), self._low - 1)
        budget = Budget()

        def first_from(at: int, end: int) -> int | None:
            """The first occurrence from `at` up to `end`."""
            budget.spend()
            budget.last = min(end + WIDEST, LAST_WALL)
            found = next(self._fired(at - 1, budget), None)
            return found if found is not None and found < end else None

        reach, beyond = 1, last + 1
        while (found := first_from(max(last - reach + 1, earliest), beyond)) is None:
            if last - reach < earliest:
                return None
            beyond = max(last - reach + 1, earliest)
            reach *= 4
        while (later := first_from(found + 1, beyond)) is not None:
            found, middle = later, (later + beyond) // 2
            later = first_from(middle, beyond)
            if later is None:
                beyond = middle
            else:
                found = later
        return self._instant(found)

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The occurrences after `start`, up to and including `end`.

        >>> week = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 8, tzinfo=UTC)
        >>> [at.day for at in parse("0 12 * * 1-3").between(*week)]
        [1, 2, 3]
        """
        last = self._floor(_aware(end, "end"))
        budget = Budget(last=last + WIDEST)
        for at in self._fired(self._floor(_aware(start, "start")), budget):
            if at > last:
                return
            budget.left = STEPS
            yield self._instant(at)

    def count(self, start: datetime, end: datetime) -> int | None:
        """How many occurrences `between` has, by arithmetic. Only near clock changes it goes through them.
        None where arithmetic takes as long."""
        if not self._simple:
            return None
        mapping = self.mappings[0]
        at, last = max(self._floor(_aware(start, "start")), self._low), self._floor(_aware(end, "end"))
        found = 0
        while at < last:
            period = mapping.zone.period(at + 1)
            calm = period.start + abs(period.offset - period.before)
            over = period.end - abs(period.offset - period.after)
            if calm <= at + 1 < over:
                stop = min(last, over - 1)
                counted = mapping.rule.count(at + period.offset, stop + period.offset)
                if counted is None:
                    return None
                found += counted
            else:
                after = period if at + 1 < calm else mapping.zone.period(period.end)
                stop = min(last, after.start + abs(after.offset - after.before) - 1)
                found += sum(1 for _ in self.between(self._instant(at), self._instant(stop)))
            at = stop
        return found

    def occurrences(self, start: datetime, end: datetime) -> Iterator[Occurrence]:
        """As `between`, each as an `Occurrence`, with notes, and with what a clock change, a calendar or a
        move took away."""
        last = self._floor(_aware(end, "end"))
        budget = Budget(last=last + WIDEST)
        fired: int | None = None
        for hit in self._hits(self._floor(_aware(start, "start")), budget):
            if hit.at > last:
                return
            budget.left = STEPS
            excluding = self._excluding(hit, budget)
            if hit.change is Change.SKIPPED:
                yield self._occurrence(hit, "dst_gap", budget)
            elif excluding is not None:
                reason = "rescheduled" if excluding[0] is None else "excluded"
                yield self._occurrence(hit, reason, budget, excluding[0])
            elif hit.at != fired:
                fired = hit.at
                yield self._occurrence(hit, None, budget)

    def nominal(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, int | None, bool]]:
        """As `between`; each occurrence with its wall time, in seconds since 1970, and whether it is the
        second of two. A time that was given as an instant has no wall time."""
        at, last = self._floor(_aware(start, "start")), self._floor(_aware(end, "end"))
        walks = [self._nominal(number, max(at, self._low), last) for number in range(len(self.mappings))]
        if (moved := self._moved_after(max(at, self._low))) and moved[0].at <= last:
            walks.append(iter([(moved[0], None)]))
        for hit, wall in heapq.merge(*walks, key=lambda each: each[0].at):
            yield self._instant(hit.at), wall, hit.change is Change.SECOND_OF_TWO

    @property
    def local(self) -> bool:
        """Whether clock changes of its zone move its occurrences."""
        return any(mapping.zone is self.zone for mapping in self.mappings)

    def wall_of(self, instant: datetime) -> int:
        """What the clock of the schedule's zone shows at an instant, in seconds since 1970."""
        at = self._floor(instant)
        return at + self.zone.period(at).offset

    def under(self, other: Zone) -> Schedule:
        """The same rule under other data of its zone."""
        mappings = [
            Mapping(mapping.rule, other, mapping.gap, mapping.fold) if mapping.zone is self.zone else mapping
            for mapping in self.mappings
        ]
        schedule = replace(self, mappings=tuple(mappings))
        object.__setattr__(schedule, "zone", other)
        return schedule

    def moved(self, move: Move | None) -> Schedule:
        """The same rule with this occurrence moved, instead of the one that was."""
        return self if move == self.move else replace(self, move=move)

    def explain(self) -> str:
        """The schedule in English.

        >>> parse("30 2 * * *", timezone="Europe/Berlin").explain()
        'At 02:30 every day, Berlin time'
        """
        return explain(self)

    def to_dict(self) -> dict[str, object]:
        """What `parse` needs to make this schedule again; calendars that have a name by their name."""
        options = self.options
        return {
            "schedule": self.text,
            "kind": self.kind,
            "timezone": options.timezone,
            "anchor": _iso(options.anchor),
            "gap": options.gap and options.gap.value,
            "fold": options.fold and options.fold.value,
            "starts_at": _iso(options.starts_at),
            "ends_at": _iso(options.ends_at),
            "exclude": [item for calendar in options.exclude for item in calendar.described()],
            "key": options.key,
            "seconds": options.seconds,
            "timing_key": self.timing_key,
        }

    def covers_wall(self, wall: int, seconds: int, budget: Budget) -> bool:
        """Whether a nominal time lies in the `seconds` up to and including a wall time: for calendars."""
        last, budget.last = budget.last, min(wall, budget.last)
        found = self.next_wall(wall - seconds, budget)
        budget.last = last
        return found is not None and found <= wall

    def next_wall(self, wall: int, budget: Budget) -> int | None:
        """The first nominal time after a wall time: for calendars."""
        self._check_anchor()
        walls = [self._next_wall(mapping.rule, wall, budget) for mapping in self.mappings]
        return min((found for found in walls if found is not None), default=None)

    def next_instant(self, at: int, budget: Budget) -> int | None:
        """As `next_after`, in seconds since 1970, within the budget of the caller's answer."""
        return next(self._fired(at, budget), None)

    def _next_wall(self, rule: Rule, wall: int, budget: Budget) -> int | None:
        struck = self.struck
        found = rule.next(wall, budget)
        while found is not None and (found in struck.walls or found // DAY in struck.days):
            budget.spend()
            found = rule.next((found // DAY + 1) * DAY - 1 if found // DAY in struck.days else found, budget)
        return found

    def _hits(self, at: int, budget: Budget, *, skipped: bool = True) -> Iterator[Hit]:
        """Every hit after an instant, within the bounds, in order; with `skipped`, also those that a gap took
        away."""
        self._check_anchor()
        at = max(at, self._low)
        if self._plain:
            return self.mappings[0].walk(at, budget, skipped=skipped)
        walks = [self._walk(mapping, at, budget, skipped=skipped) for mapping in self.mappings]
        if (until := self.until) is not None:
            walks[0] = takewhile(lambda hit: hit.at <= until, walks[0])
        hits = heapq.merge(*walks) if len(walks) > 1 else walks[0]
        if (high := self._high) is not None:
            hits = takewhile(lambda hit: hit.at <= high, hits)
        moved = self._moved_after(at)
        return heapq.merge(hits, moved, key=lambda hit: hit.at) if moved else hits

    def _moved_after(self, at: int) -> list[Hit]:
        """The occurrence that was moved, if it comes after an instant."""
        if self.move is None or (to := self._floor(self.move.to)) <= at:
            return []
        return [Hit(to, to, None)]

    def _fired(self, at: int, budget: Budget) -> Iterator[int]:
        """The instants of `_hits` that count: exclusions are jumped over."""
        fired: int | None = None
        again = True
        while again:
            again = False
            for hit in self._hits(at, budget, skipped=False):
                if hit.at == fired:
                    continue
                excluding = self._excluding(hit, budget)
                if excluding is None:
                    fired = hit.at
                    yield fired
                else:
                    at, again = excluding[1] - 1, True
                    break

    def _excluding(self, hit: Hit, budget: Budget) -> tuple[Calendar | None, int] | None:
        """What excludes a hit, and an instant before which it excludes all others: a calendar, or None for a
        move."""
        if self.move is not None and self._floor(self.move.since) < hit.at <= self._floor(self.move.until):
            to = self._floor(self.move.to)
            if hit.at == to:
                return None
            return None, to if hit.at < to else self._floor(self.move.until) + 1
        for calendar in self.options.exclude:
            if calendar.roll == Roll.SKIP:
                wall = hit.at + self.zone.period(hit.at).offset
                until = calendar.excluded_until(hit.at, wall, self.zone, budget)
                if until is not None:
                    budget.spend(EXCLUSION_STEPS)
                    return calendar, max(until, hit.at + 1)
        return None

    def _walk(self, mapping: Mapping, at: int, budget: Budget, *, skipped: bool) -> Iterator[Hit]:
        """One mapping's hits without those struck. A wall time strikes the wall time, both times if it
        happens twice; beside times that are instants, it strikes the instants at which the clock shows it.
        Days that are struck are jumped over."""
        struck = self.struck
        again = True
        while again:
            again = False
            for hit in mapping.walk(at, budget, skipped=skipped):
                in_zone = mapping.zone is self.zone
                named = hit.wall in struck.walls if in_zone else hit.at in struck.wall_instants
                if named or hit.at in struck.instants:
                    budget.spend()
                    continue
                day = (hit.at + self.zone.period(hit.at).offset) // DAY if struck.days else 0
                if day not in struck.days:
                    yield hit
                    continue
                budget.spend(EXCLUSION_STEPS)
                at, again = self.zone.leaves(hit.at, day * DAY, (day + 1) * DAY) - 1, True
                break

    def _nominal(self, number: int, at: int, last: int) -> Iterator[tuple[Hit, int | None]]:
        """What counts of one mapping, with the wall times if it is in the schedule's zone."""
        mapping, budget = self.mappings[number], Budget(last=last + WIDEST)
        last = min(last, last if self._high is None else self._high)
        last = min(last, last if number or self.until is None else self.until)
        walk = self._walk(mapping, at, budget, skipped=False)
        for hit in takewhile(lambda hit: hit.at <= last, walk):
            budget.left = STEPS
            if self._excluding(hit, budget) is None:
                yield hit, hit.wall if mapping.zone is self.zone else None

    def _occurrence(
        self, hit: Hit, skipped: str | None, budget: Budget, calendar: Calendar | None = None
    ) -> Occurrence:
        at = self._instant(hit.at)
        local = at.astimezone(self.zone.info)
        note = None
        if hit.change is not None:
            actual, local = local, self.zone.local(hit).replace(microsecond=at.microsecond)
            note = change_note(hit.change, local, actual)
        elif skipped == "rescheduled":
            note = "left out" if self.move is not None and self.move.skip else "its run was moved"
        elif self.move is not None and at == self.move.to != self.move.origin and not self.move.skip:
            note = f"moved from {self.move.origin.astimezone(self.zone.info):%Y-%m-%d %H:%M:%S}"
        elif calendar is not None:
            note = f"excluded by {calendar.name}" if calendar.name else "on an excluded day"
        else:
            rule = self.mappings[0].rule
            if isinstance(rule, Rolled) and rule.rule.next(hit.wall - 1, budget) != hit.wall:
                note = f"moved from a day excluded by {rule.calendar.name}"
        return Occurrence(at, local, note, skipped)

    def _floor(self, instant: datetime) -> int:
        return (instant - EPOCH - self.fraction) // SECOND

    def _instant(self, at: int) -> datetime:
        return EPOCH + timedelta(0, at) + self.fraction if self.fraction else EPOCH + timedelta(0, at)

    def _check_anchor(self) -> None:
        if self.needs_anchor:
            other = ", or begin the text with DTSTART" if self.kind == "recurrence" else ""
            what = f"{self.text!r} counts from a start that was not given"
            raise ScheduleError("anchor_missing", what, field="anchor", hint=f"pass anchor={other}")

    def _make_timing_key(self) -> str:
        in_zone = self.options.timezone if self.options.exclude else None
        inputs: tuple[object, ...] = (
            [
                (mapping.rule.canonical(), mapping.zone.name, mapping.gap.value, mapping.fold.value)
                for mapping in self.mappings
            ],
            (in_zone, self.until, self._low, self._high, self.fraction, self.needs_anchor),
            [sorted(dates) for dates in (self.struck.walls, self.struck.instants, self.struck.days)],
            [(calendar.version, str(calendar.roll)) for calendar in self.options.exclude],
        )
        if self.move is not None:
            inputs = (*inputs, [self._floor(at) for at in (self.move.since, self.move.until, self.move.to)])
        return hashed(repr(inputs))


def next_after_many(schedules: Sequence[Schedule], instant: datetime) -> list[datetime | None]:
    """`next_after` for many schedules: computed once for each distinct `timing_key`."""
    answers: dict[str, datetime | None] = {}
    for schedule in schedules:
        if schedule.timing_key not in answers:
            answers[schedule.timing_key] = schedule.next_after(instant)
    return [answers[schedule.timing_key] for schedule in schedules]


def _iso(instant: datetime | None) -> str | None:
    """A naive anchor is wall time, and stays so."""
    if instant is None:
        return None
    return instant.isoformat() if instant.tzinfo is None else iso(instant)


def _aware(instant: datetime, field: str) -> datetime:
    if instant.tzinfo is None:
        hint = "pass an aware datetime, such as datetime(…, tzinfo=UTC)"
        raise ScheduleError("naive_time", f"{instant.isoformat()} has no time zone", field=field, hint=hint)
    try:
        return instant.astimezone(UTC) if instant.tzinfo is not UTC else instant
    except OverflowError:
        what, hint = f"{instant.isoformat()} is outside the years 1 to 9999", "use a year in between"
        raise ScheduleError("out_of_range", what, field=field, hint=hint) from None
