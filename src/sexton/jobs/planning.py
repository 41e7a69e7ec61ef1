"""The pure decision: what becomes of every occurrence of a job up to now.

    plan(schedule, policy, scheduled_at, jitter, now) -> Plan

`scheduled_at` is the first occurrence not yet accounted for; everything from it up to `now` gets exactly one
disposition, and `next_at` is the first one after that. An occurrence is due at its scheduled time plus the
job's jitter, and lateness is measured from there:

    up to `grace` late, or    it runs: a slow scheduler or a failover must not make a job skip
    `ON_TIME`, if that is more
    later than that, or       it was missed, and `missed_window` decides
    overtaken by the next
                                SKIP      recorded as missed
                                RUN_ONCE  the latest one runs, the others are recorded as coalesced
                                RUN_ALL   each runs, one after another, the newest `max_missed` of them;
                                          the rest is recorded as max_missed
    older than `catch_up`     never run, recorded as outside_catch_up (SKIP: as missed)

A job that repeats faster than its grace has several occurrences within it. If none is later than `HICCUP`,
each runs: the scheduler was only slow. After a longer standstill only the latest one counts as late; the
others were overtaken and count as missed, because they must not all start at once. So RUN_ONCE coalesces all
earlier ones into the latest, and RUN_ALL runs each of them, one after another, and then the latest.
Neighbouring skips with one reason become one range with a count, so a long outage is not listed occurrence by
occurrence.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from sexton.jobs.spec import JobSpec
from sexton.model import MissedWindow, SkipReason, Trigger
from sexton.postgres.jsonb import json_value
from sexton.schedules import Schedule, parse
from sexton.schedules.move import Move
from sexton.schedules.parse import takes_anchor
from sexton.schedules.zone import WIDEST, Fold

DAY = timedelta(days=1)
# The missed_window of a job that does not set one.
USUAL_WINDOW = MissedWindow.RUN_ONCE
MICROSECOND = timedelta(microseconds=1)
# Up to this late an occurrence is on time, however short its grace, because firing itself takes time.
ON_TIME = timedelta(seconds=1)
# Up to this late no occurrence is missed, however often a job repeats: a failover takes 5.5 s.
HICCUP = timedelta(seconds=10)
# Occurrences up to this long before the grace are examined one by one.
NEAR = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class MissedPolicy:
    """What becomes of occurrences of a job that did not fire in time."""

    missed_window: MissedWindow
    max_missed: int
    catch_up: timedelta | None
    grace: timedelta

    @classmethod
    def of(cls, spec: JobSpec, catch_up_seconds: float | None = None) -> MissedPolicy:
        """`catch_up_seconds` is the default of the cluster, for a job without its own."""
        window = spec.missed_window or USUAL_WINDOW
        seconds = catch_up_seconds if spec.catch_up_seconds is None else spec.catch_up_seconds
        catch_up = None if seconds is None else timedelta(seconds=seconds)
        if catch_up is None and window is MissedWindow.RUN_ALL:
            catch_up = DAY
        return cls(window, spec.max_missed, catch_up, grace_of(spec.grace_seconds))


def grace_of(seconds: int) -> timedelta:
    """How late an occurrence may be before it counts as missed."""
    return max(timedelta(seconds=seconds), ON_TIME)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    scheduled_at: datetime
    trigger: Trigger
    missed: bool


@dataclass(frozen=True, slots=True)
class PlannedSkip:
    """One occurrence, or a range of them up to `until_at`."""

    scheduled_at: datetime
    reason: SkipReason
    until_at: datetime | None = None
    occurrences: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs and skips for the occurrences up to now. `chained`: the missed ones run one after another."""

    runs: tuple[PlannedRun, ...]
    skips: tuple[PlannedSkip, ...]
    next_at: datetime | None
    chained: bool = False

    @property
    def missed(self) -> int:
        """The number of catch-up runs."""
        return sum(run.trigger is Trigger.CATCH_UP for run in self.runs)


def plan(
    schedule: Schedule,
    policy: MissedPolicy,
    scheduled_at: datetime,
    jitter: timedelta,
    now: datetime,
    remaining: int | None = None,
) -> Plan:
    """Account for everything from `scheduled_at` up to now; `remaining` is what max_runs leaves."""
    skips = _Skips()
    to_run: deque[datetime] = deque()  # missed, but to be run: the latest one, or the newest `max_missed`
    just_late: list[datetime] = []
    once = policy.missed_window is MissedWindow.RUN_ONCE

    def miss(at: datetime) -> None:
        if policy.missed_window is MissedWindow.SKIP:
            skips.add(at, SkipReason.MISSED)
        elif policy.catch_up is not None and now - at - jitter > policy.catch_up:
            skips.add(at, SkipReason.OUTSIDE_CATCH_UP)
        else:
            to_run.append(at)
            if len(to_run) > (1 if once else policy.max_missed):
                skips.add(to_run.popleft(), SkipReason.COALESCED if once else SkipReason.MAX_MISSED)

    last = scheduled_at
    first = _count_old(schedule, policy, scheduled_at, now - jitter, skips)
    if first != scheduled_at:
        last = skips.ranges[-1].until_at or skips.ranges[-1].scheduled_at
    for at in () if first is None else _due(schedule, first, now - jitter):
        last = at
        if now - at - jitter <= policy.grace:
            just_late.append(at)
        else:
            miss(at)
    if now - scheduled_at - jitter > min(policy.grace, HICCUP):
        for at in just_late[:-1]:
            miss(at)
        just_late = just_late[-1:]
    if once and just_late and to_run:
        skips.add(to_run.popleft(), SkipReason.COALESCED)
    runs = [PlannedRun(at, Trigger.CATCH_UP, missed=True) for at in to_run]
    runs += [PlannedRun(at, Trigger.SCHEDULE, missed=False) for at in just_late]
    next_at = scheduled_at if scheduled_at > now - jitter else schedule.next_after(last)
    if remaining is not None and len(runs) >= remaining:
        runs, next_at = runs[:remaining], None
    chained = policy.missed_window is MissedWindow.RUN_ALL and bool(to_run)
    return Plan(tuple(runs), tuple(skips.ranges), next_at, chained)


def paused(
    schedule: Schedule,
    scheduled_at: datetime,
    jitter: timedelta,
    now: datetime,
    reason: SkipReason = SkipReason.PAUSED,
) -> Plan:
    """Skip everything that fell due while a job was paused or deleted."""
    skips = _Skips()
    last = scheduled_at
    if scheduled_at <= now - jitter and (more := schedule.count(scheduled_at, now - jitter)) is not None:
        last = _count(schedule, scheduled_at, now - jitter, more, reason, skips)
    else:
        for at in _due(schedule, scheduled_at, now - jitter):
            last = at
            skips.add(at, reason)
    next_at = scheduled_at if scheduled_at > now - jitter else schedule.next_after(last)
    return Plan((), tuple(skips.ranges), next_at)


def after_pause(
    schedule: Schedule, scheduled_at: datetime, jitter: timedelta, until: datetime
) -> datetime | None:
    """The first occurrence after a pause that ends at `until`. A single time is never lost to a pause: it
    follows missed_window."""
    if schedule.kind == "once" or scheduled_at > until - jitter:
        return scheduled_at
    return schedule.next_after(until - jitter)


def replan(
    schedule: Schedule, before: Schedule, scheduled_at: datetime, *, again: bool = False
) -> datetime | None:
    """The time of a timer after the zone database has changed. `before` is the schedule under the old clock
    changes, `scheduled_at` the first occurrence not yet accounted for.

    An occurrence is identified by its wall time. So the timer moves to the first occurrence with the same or
    a later wall time: one that has fired does not fire again, even if its instant is now in the future; one
    that has not fired is due at once if its instant is now in the past. A rule that fires on both sides of a
    fold, or counts elapsed time, continues after the last instant instead. The timer always moves strictly
    after the last instant that was accounted for.

    `again`: leave timers alone that fit the new clock changes; the others were planned with the old ones.
    """
    just_before = scheduled_at - timedelta(seconds=1)
    fits = schedule.next_after(just_before) == scheduled_at
    known = before.next_after(just_before) == scheduled_at
    if fits and (again or not known):
        return scheduled_at
    reach = timedelta(seconds=WIDEST)
    accounted = before.previous_before(scheduled_at) or scheduled_at - reach
    if not schedule.local or schedule.fold == Fold.BOTH:
        return schedule.next_after(accounted)
    shown = (before.wall_of(scheduled_at), False)
    same = [
        (wall, second)
        for at, wall, second in before.nominal(just_before, scheduled_at)
        if at == scheduled_at and wall is not None
    ]
    open_from = min(same, default=shown)
    for at, wall, second in schedule.nominal(max(accounted, scheduled_at - reach), scheduled_at + reach):
        if at >= scheduled_at if wall is None else (wall, second) >= open_from:
            return at
    return schedule.next_after(scheduled_at + reach)


def _count_old(
    schedule: Schedule, policy: MissedPolicy, scheduled_at: datetime, end: datetime, skips: _Skips
) -> datetime | None:
    """Skip by arithmetic everything before the newest occurrences that may run. Returns the first occurrence
    that is left to examine; None if there is none up to now."""
    in_grace = end - policy.grace
    kept = {MissedWindow.SKIP: 0, MissedWindow.RUN_ONCE: 1}.get(policy.missed_window, policy.max_missed)
    window = NEAR
    while True:
        if in_grace - window <= scheduled_at:
            return scheduled_at
        found = schedule.count(in_grace - window, in_grace - MICROSECOND)
        if found is None:
            return scheduled_at
        if found >= kept:
            break
        window *= 4
    until, place = in_grace - window, scheduled_at
    reasons = {MissedWindow.SKIP: SkipReason.MISSED, MissedWindow.RUN_ONCE: SkipReason.COALESCED}
    reason = reasons.get(policy.missed_window, SkipReason.MAX_MISSED)
    if policy.catch_up is not None and policy.missed_window is not MissedWindow.SKIP:
        outside = min(until, end - policy.catch_up - MICROSECOND)
        more = schedule.count(place, outside) if place <= outside else None
        if more is not None:
            last = _count(schedule, place, outside, more, SkipReason.OUTSIDE_CATCH_UP, skips)
            following = schedule.next_after(last)
            if following is None or following > until:
                return following
            place = following
    more = schedule.count(place, until)
    assert more is not None
    return schedule.next_after(_count(schedule, place, until, more, reason, skips))


def _count(
    schedule: Schedule, first: datetime, until: datetime, more: int, reason: SkipReason, skips: _Skips
) -> datetime:
    """Skip an occurrence and `more` after it up to an instant. Returns the last of them."""
    last = first
    if more:
        last = schedule.previous_before(until + MICROSECOND) or first
    skips.add(first, reason, last, more + 1)
    return last


def _due(schedule: Schedule, scheduled_at: datetime, until: datetime) -> Iterator[datetime]:
    """The first unaccounted occurrence and those after it."""
    if scheduled_at > until:
        return
    yield scheduled_at
    yield from schedule.between(scheduled_at, until)


@dataclass(slots=True)
class _Skips:
    """Collects skipped occurrences, oldest first; neighbours of one reason become a range."""

    ranges: list[PlannedSkip] = field(default_factory=list)

    def add(
        self, at: datetime, reason: SkipReason, until: datetime | None = None, occurrences: int = 1
    ) -> None:
        """Record one skipped occurrence, or several up to `until`."""
        if self.ranges and self.ranges[-1].reason is reason:
            first = self.ranges[-1]
            self.ranges[-1] = PlannedSkip(
                first.scheduled_at, reason, until or at, first.occurrences + occurrences
            )
        else:
            self.ranges.append(PlannedSkip(at, reason, until if occurrences > 1 else None, occurrences))


def schedule_of(row: Mapping[str, Any]) -> Schedule:
    """The schedule of a job's row; `options` may be JSON text."""
    options = json_value(row["options"])
    schedule = parse(
        row["schedule"],
        timezone=row["timezone"],
        kind=row["kind"],
        anchor=row["anchor"] if takes_anchor(row["schedule"]) else None,
        gap=options.get("gap"),
        fold=options.get("fold"),
        seconds=options.get("seconds"),
        starts_at=options.get("starts_at"),
        ends_at=options.get("ends_at"),
        exclude=options.get("exclude", ()),
        key=row["name"] if "H" in row["schedule"] else None,  # else jobs alike share the parsed schedule
    )
    return schedule.moved(move_of(row))


def move_of(row: Mapping[str, Any]) -> Move | None:
    """The moved occurrence of a job."""
    moved = row["moved"]
    return None if moved is None else msgspec.convert(json_value(moved), Move)
