"""The arguments of jobs in Python: fields, schedules as text or as objects, and filters for many jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeAlias, TypedDict

from sexton.errors import InvalidField, ScheduleError
from sexton.jobs.filter import JobFilter
from sexton.model import Backoff, JobStatus, MissedWindow, Overlap, RetryJitter
from sexton.refusal import unknown_field
from sexton.runs.many import check_filter
from sexton.schedules import Calendar, Schedule, parse
from sexton.schedules.interval import read_seconds
from sexton.schedules.wall import to_wall
from sexton.schedules.zone import EPOCH

LONGEST_AFTER = timedelta(days=36_525)

#: A schedule: text in any of its forms, an interval, one time, or what `sexton.parse` has read.
When: TypeAlias = str | timedelta | datetime | Schedule
Status: TypeAlias = JobStatus | Literal["active", "paused", "completed", "deleted"]


class JobFields(TypedDict, total=False):
    """The fields of a job that can be given in addition to its schedule; `docs/concepts.md` explains each."""

    timezone: str | None
    kind: Literal["cron", "recurrence", "interval", "once"] | None
    anchor: datetime | str | None
    gap: Literal["after", "shift", "skip"] | None
    fold: Literal["first", "second", "both"] | None
    seconds: Literal["first", "last"] | None
    starts_at: datetime | str | None
    ends_at: datetime | str | None
    exclude: list[str]
    target: Mapping[str, Any] | None
    queue: str
    priority: int
    max_retries: int
    retry_backoff: Backoff | Literal["fixed", "linear", "exponential"]
    retry_base_seconds: int
    retry_max_seconds: int
    retry_jitter: RetryJitter | Literal["none", "full"]
    timeout_seconds: int
    missed_window: MissedWindow | Literal["SKIP", "RUN_ONCE", "RUN_ALL"] | None
    max_missed: int
    catch_up_seconds: int | None
    grace_seconds: int
    overlap: Overlap | Literal["ALLOW", "SKIP", "QUEUE_ONE", "CANCEL_RUNNING"]
    jitter_seconds: int
    expires_seconds: int | None
    max_runs: int | None
    idempotency_key_template: str | None
    concurrency_key: str | None
    dead_letter_target: Mapping[str, Any] | None
    keep_completed_seconds: int
    labels: dict[str, str]
    description: str | None
    owner: str | None


class ManyJobs(TypedDict, total=False):
    """Which jobs: those that match all of this. Without any filter, `all` must say that every job is
    meant."""

    status: Literal["active", "paused", "completed"] | None
    label: str | None
    name: str | None
    target: str | None
    app: str | None
    problem: bool
    all: bool


def filter_of(chosen: ManyJobs) -> JobFilter:
    """The filter of the arguments; refuses an empty one without `all`."""
    given: dict[str, Any] = {**chosen}
    every = given.pop("all", False)
    if unknown := given.keys() - JobFilter.__dataclass_fields__.keys():
        raise unknown_field(min(unknown), [*ManyJobs.__annotations__])
    return check_filter(JobFilter(**given), every=every)


def with_schedule(schedule: object, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a job with its schedule as text. A `Schedule` also sets the zone, anchor, bounds and
    policies. Other types are refused where jobs are read."""
    if isinstance(schedule, Schedule):
        own = _fields_of(schedule)
        for name in own:
            if fields.get(name):
                raise InvalidField(
                    "given_twice",
                    f"{name} is given together with a Schedule, which has its own",
                    field=name,
                    hint=f"write parse(…, {name}=…)",
                )
        return {**fields, **own}
    if isinstance(schedule, datetime):
        return {**fields, "schedule": schedule.isoformat()}
    if isinstance(schedule, timedelta):
        if schedule % timedelta(seconds=1):
            raise InvalidField(
                "bad_interval",
                f"{schedule} is not a whole number of seconds",
                field="schedule",
                hint="round it",
            )
        return {**fields, "schedule": f"every {schedule // timedelta(seconds=1)}s"}
    return {**fields, "schedule": schedule}


def _fields_of(schedule: Schedule) -> dict[str, Any]:
    """The fields of a job that has exactly this schedule."""
    options = schedule.options
    if options.key is not None:
        raise _refuse("was read with a key, and the H of a job hashes its name", "give its text")
    anchor = options.anchor
    if anchor is not None and anchor.tzinfo is None:
        anchor = EPOCH + timedelta(seconds=schedule.zone.first_instant(to_wall(anchor)))
    fields: dict[str, Any] = {
        "timezone": options.timezone,
        "kind": schedule.kind,
        "anchor": anchor,
        "gap": None if options.gap is None else options.gap.value,
        "fold": None if options.fold is None else options.fold.value,
        "seconds": options.seconds,
        "starts_at": options.starts_at,
        "ends_at": options.ends_at,
        "exclude": [text for calendar in options.exclude for text in _dates_of(calendar)],
    }
    if parse(schedule.text, **fields).timing_key != schedule.timing_key:
        raise _refuse("has an anchor that no clock has shown", "give the anchor as an instant")
    return {"schedule": schedule.text, **fields}


def _dates_of(calendar: Calendar) -> list[str]:
    if calendar.name or calendar.schedule or calendar.only or calendar.events or calendar.roll != "skip":
        raise _refuse(f"has the calendar {calendar.name!r}, and jobs have dates", "write exclude=[…]")
    ranges = (f"{_text(start)}/{_text(end)}" for start, end in calendar.ranges)
    return [*map(_text, calendar.dates), *ranges]


def _text(value: date | str) -> str:
    return value if isinstance(value, str) else value.isoformat()


def _refuse(why: str, hint: str) -> InvalidField:
    return InvalidField("bad_schedule", f"this Schedule {why}", field="schedule", hint=hint)


def duration_of(after: object) -> timedelta:
    """A delay from now: at least 0, at most what a datetime can hold."""
    try:
        length = after
        if isinstance(after, str):
            length = timedelta(seconds=read_seconds(f"every {after.removeprefix('in ')}"))
        if isinstance(length, timedelta) and timedelta(0) <= length <= LONGEST_AFTER:
            return length
    except ScheduleError:
        pass  # refused below, with a message about after=
    raise InvalidField(
        "bad_interval", f"after= is {after!r}", field="after", hint='give timedelta(minutes=10) or "10m"'
    )
