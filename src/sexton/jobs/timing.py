"""The schedule of a job, its anchor, and its first occurrence, from the fields of its specification."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from sexton.clock import iso, whole_second
from sexton.errors import InvalidField, ScheduleError
from sexton.jobs.spec import JobSpec
from sexton.refusal import aware
from sexton.schedules import Schedule, parse
from sexton.schedules.parse import delay_in, names_start, takes_anchor, zone_in
from sexton.schedules.zone import EPOCH


def read_schedule(spec: JobSpec, now: datetime) -> tuple[Schedule, datetime | None]:
    """The schedule of a new job, and its anchor if it has one. A delay such as `in 10m` becomes an instant,
    because the text of the schedule is stored."""
    spec = _from_now(spec, now)
    for field in ("starts_at", "ends_at", "anchor"):
        moment = getattr(spec, field)
        if moment is not None and not 1970 <= moment.year <= 9000:
            raise ScheduleError(
                "bad_time", f"{field} is in the year {moment.year}", field=field, hint="check the year"
            )
    if spec.anchor is not None and not (takes_anchor(spec.schedule) or names_start(spec.schedule)):
        raise ScheduleError(
            "bad_option",
            "this kind of schedule has no anchor",
            field="anchor",
            hint="leave anchor out; to begin later give starts_at",
        )
    schedule = _parse(spec, spec.anchor)
    if spec.anchor is None and schedule.needs_anchor:
        schedule = make_schedule(spec, _cut(now, schedule.kind))
    return schedule, _anchor_of(schedule, spec)


def _from_now(spec: JobSpec, now: datetime) -> JobSpec:
    delay = delay_in(spec.schedule)
    if delay is None or spec.kind not in (None, "once"):
        return spec
    if spec.anchor is not None:
        raise ScheduleError(
            "bad_option",
            f"{spec.schedule!r} counts from now, not from an anchor",
            field="anchor",
            hint="leave anchor out, or write the instant",
        )
    text = iso(whole_second(now.astimezone(UTC) + delay), "seconds")
    zone = zone_in(spec.schedule) if spec.timezone is None else spec.timezone
    return msgspec.structs.replace(spec, schedule=text, timezone=zone)


def make_schedule(spec: JobSpec, anchor: datetime | None) -> Schedule:
    """The schedule of a stored job, with its stored anchor."""
    return _parse(spec, anchor if takes_anchor(spec.schedule) else None)


def _parse(spec: JobSpec, anchor: datetime | None) -> Schedule:
    """Cached: jobs alike share one schedule."""
    return parse(
        spec.schedule,
        timezone=spec.timezone,
        kind=spec.kind,
        anchor=anchor,
        gap=spec.gap,
        fold=spec.fold,
        seconds=spec.seconds,
        starts_at=spec.starts_at,
        ends_at=spec.ends_at,
        exclude=tuple(spec.exclude),
        key=spec.name if "H" in spec.schedule else None,
    )


def first_occurrence(spec: JobSpec, schedule: Schedule, now: datetime) -> datetime:
    """The first occurrence of a new job. A single time in the past needs a `missed_window`."""
    first = schedule.next_after(now)
    if first is not None:
        return first
    past = schedule.previous_before(now + timedelta(microseconds=1))
    if past is None:
        raise ScheduleError(
            "never_fires", "no time is left between the bounds and exclusions of this schedule",
            hint="check starts_at, ends_at and exclude",
        )  # fmt: skip
    if schedule.kind != "once":
        raise ScheduleError(
            "never_fires",
            f"the last time of this schedule was {iso(past, 'seconds')}",
            hint="check UNTIL, COUNT and ends_at",
        )
    if spec.missed_window is None:
        raise over(past, now)
    return past


def over(at: datetime, now: datetime) -> ScheduleError:
    """The refusal of a single time in the past without a `missed_window`."""
    return ScheduleError(
        "in_the_past",
        f"{iso(at, 'seconds')} is over: it is {iso(now, 'seconds')} now",
        hint="give a later time, or missed_window: RUN_ONCE runs it at once, SKIP records it as missed",
    )


def read_moment(at: datetime | str, timezone: str, now: datetime) -> datetime:
    """The new time of an occurrence: an instant, a local time in the zone of the job, or `in 10m`."""
    try:
        text = at if isinstance(at, str) else aware(at, "at").isoformat()
        moment = parse(text, kind="once", timezone=timezone, anchor=now).next_after(now)
    except ScheduleError as error:
        raise InvalidField(
            error.code,
            error.message,
            field="at",
            hint=error.hint or "write 2026-12-24T18:00:00Z, or in 10m",
        ) from None
    if moment is None:
        raise InvalidField(
            "in_the_past", f"{text} is over: it is {iso(now, 'seconds')} now", field="at",
            hint="give a later time; to run the job now: sexton jobs run",
        )  # fmt: skip
    return moment


def check_bounds(at: datetime, spec: JobSpec) -> None:
    """Refuse a new time of an occurrence outside the bounds of the job."""
    for field, outside in (
        ("starts_at", spec.starts_at is not None and at < spec.starts_at),
        ("ends_at", spec.ends_at is not None and at > spec.ends_at),
    ):
        if outside:
            raise InvalidField(
                "out_of_range",
                f"{iso(at)} is {'before' if field == 'starts_at' else 'after'} the job's {field}",
                field="at",
                hint=f"give another time, or edit {field}",
            )


def place_of(schedule: Schedule, next_at: datetime, now: datetime) -> datetime:
    """The occurrence of the rule that the next one replaces, if it was moved before."""
    if schedule.move is None or schedule.move.to != next_at:
        return next_at
    if schedule.move.origin > now:
        return schedule.move.origin
    return schedule.moved(None).next_after(now) or next_at


def _anchor_of(schedule: Schedule, spec: JobSpec) -> datetime | None:
    """DTSTART, or what was given."""
    if schedule.kind == "recurrence" and names_start(spec.schedule):
        mapping = schedule.mappings[0]
        return EPOCH + timedelta(seconds=mapping.zone.first_instant(mapping.rule.first))
    return schedule.anchor


def _cut(now: datetime, kind: str) -> datetime:
    now = now.astimezone(UTC).replace(microsecond=0)
    return now if kind == "interval" else now.replace(second=0)
