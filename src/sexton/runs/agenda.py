"""What is planned in a range of time, worked out by the code that fires, and what happened in it.

A namespace with few jobs due in the range is shown one by one; where there are more, by the hour, each
schedule worked out once for all jobs that share it. With very many schedules only a part of them is worked
out, chosen at random, and the rest counts as if it were like that part: the answer says so. What is over
comes from history, and by the hour from what was counted of it; where that is too much to name, the jobs that
fire seldom and what failed are named. A job that fires often is one entry for each hour or day, with how many
times that is, by arithmetic: else it would take the room of all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice, product
from typing import Annotated, Any, Literal

import msgspec
from asyncpg import Record

from sexton import clock
from sexton.errors import InvalidField, SextonError
from sexton.jobs.clock_change import ClockChange, clock_changes
from sexton.jobs.filter import JobFilter
from sexton.jobs.planning import schedule_of
from sexton.model import encode_id
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.runs.planned_hours import PlannedHours
from sexton.schedules import Schedule
from sexton.schedules.zone import zone, zone_names

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)
LONGEST_RANGE = timedelta(days=62)
MOST_ENTRIES = 2000
# Occurrences of one schedule in a range, and schedules that are worked out for so long.
MOST_TIMES = 62 * 24 * 60
WORK_SECONDS = 0.1
# So many schedules are worked out however busy the machine is.
ALWAYS_WORKED_OUT = 100
# A job with more times than these has one entry for each hour, and if these are too many, for each day.
MOST_TIMES_NAMED, MOST_HOURS_NAMED = 40, 192
# With more, counting is quicker than listing: a minutely job in a month takes 15 ms instead of 260.
MOST_TIMES_LISTED = 800
# Of a past with more than can be named: jobs that fire seldom, and what failed.
MOST_SELDOM, MOST_FAILED = 200, 500
FAR = timedelta(days=400)


class AgendaEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One time of a job, of content or of a campaign: planned, or what became of it."""

    kind: Annotated[Literal["job", "content", "release", "campaign"], about("What it is.")]
    at: Annotated[datetime, about("When.")]
    local: Annotated[str, about("The same on the wall clock of its zone.")]
    timezone: Annotated[str, about("Its zone.")]
    title: Annotated[str, about("What it is called.")]
    id: Annotated[str, about("The job, planned action, release or campaign.")]
    job_id: Annotated[str | None, about("The job, if it is one.")] = None
    run_id: Annotated[str | None, about("The run, if it has fired.")] = None
    status: Annotated[str, about("upcoming, or what became of it.")]
    action: Annotated[str | None, about("Of content: publish, unpublish or archive.")] = None
    movable: Annotated[bool, about("Whether it can be moved to another time.")] = False
    revision: Annotated[int | None, about("Of what can be moved: its revision.")] = None
    count: Annotated[int, about("How many occurrences it stands for.")] = 1
    schedule: Annotated[str | None, about("Of a job: its schedule, as it was written.")] = None
    subject: Annotated[str | None, about("Of content: the entity, `type/id`.")] = None
    late_seconds: Annotated[float | None, about("How much later than planned it was fired.")] = None


class AgendaHour(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is in an hour."""

    at: Annotated[datetime, about("Its beginning.")]
    count: Annotated[int, about("Occurrences: planned ones, and what has happened.")]
    failed: Annotated[int, about("Of what has happened: runs that died or expired.")] = 0


class Agenda(msgspec.Struct, frozen=True, kw_only=True):
    """A range of time: one by one where there is room, and by the hour."""

    start: Annotated[datetime, about("The first instant.")]
    end: Annotated[datetime, about("The end, which does not belong to it.")]
    timezone: Annotated[str, about("The zone of the clock changes.")]
    entries: Annotated[list[AgendaEntry], about(f"In the order of time; at most {MOST_ENTRIES:,}.")]
    complete: Annotated[bool, about("False if there are more than are named: see `density`.")] = True
    density: Annotated[list[AgendaHour], about("How much there is in each hour, where there is any.")]
    estimated: Annotated[bool, about("True if there are too many schedules to work all of them out.")] = False
    clock_changes: Annotated[list[ClockChange], about("When the clock of the zone changes.")]


@query
async def read_agenda(
    context: Context,
    start: datetime,
    end: datetime,
    timezone: str = "UTC",
    *,
    label: str | None = None,
    others: Sequence[str] = (),
    ahead: PlannedHours | None = None,
) -> Agenda:
    """The jobs of the namespace between two instants, but for those with targets of these `others`: products
    show them as what they are of. With `label`, `name` or `name=value`, only jobs that have it. `ahead`
    remembers what schedules do, from one call to the next."""
    if end <= start:
        raise InvalidField("bad_range", "end is not after start", field="end", hint="give a later time")
    if end - start > LONGEST_RANGE:
        hint = "give less at a time"
        raise InvalidField("too_long", f"that is more than {LONGEST_RANGE.days} days", field="end", hint=hint)
    changes = clock_changes(timezone, start, end)
    now = await context.time()
    hours = _Hours()
    entries: list[AgendaEntry] = []
    jobs = None if label is None else await _labelled(context, label, others)
    complete = jobs is None or len(jobs) <= MOST_ENTRIES
    if start < now:
        past = start, min(end, now)
        all_named = (
            await _happened(context, past, others, entries, hours)
            if jobs is None
            else await _happened_of(context, past, jobs[:MOST_ENTRIES], entries, hours)
        )
        complete = complete and all_named
    if end > now:
        reach, few = (max(start, now), end), None if jobs is None else jobs[:MOST_ENTRIES]
        all_named = await _planned(
            context, reach, timezone, others, few, entries, hours, ahead or PlannedHours()
        )
        complete = complete and all_named
    entries.sort(key=lambda each: each.at)
    return Agenda(
        start=start,
        end=end,
        timezone=timezone,
        entries=entries[:MOST_ENTRIES],
        complete=complete and len(entries) <= MOST_ENTRIES,
        density=hours.shown(),
        estimated=hours.estimated,
        clock_changes=changes,
    )


class _Hours:
    """Counts by the hour."""

    def __init__(self) -> None:
        self.estimated = False
        self._counts: dict[datetime, list[float]] = {}

    def add(self, times: Iterable[datetime], jobs: float = 1, failed: float = 0) -> None:
        for at in times:
            known = self._counts.setdefault(at.replace(minute=0, second=0, microsecond=0), [0.0, 0.0])
            known[0] += jobs
            known[1] += failed

    def plus(self, other: _Hours, times: float) -> None:
        for at, (count, failed) in other._counts.items():
            self.add([at], count * times, failed * times)

    def shown(self) -> list[AgendaHour]:
        return [
            AgendaHour(at=at, count=round(count), failed=round(failed))
            for at, (count, failed) in sorted(self._counts.items())
        ]


async def _labelled(context: Context, label: str, others: Sequence[str]) -> list[int]:
    """The jobs with a label; one more than are named, if there are more."""
    chosen = JobFilter(label=label).parameters()
    rows = await context.fetch(
        "jobs/list_labelled",
        namespace=context.namespace,
        label=chosen["label"],
        labels=chosen["labels"],
        others=others,
        most=MOST_ENTRIES + 1,
    )
    return [row["id"] for row in rows]


async def _happened_of(
    context: Context,
    reach: tuple[datetime, datetime],
    jobs: Sequence[int],
    entries: list[AgendaEntry],
    hours: _Hours,
) -> bool:
    """What is over of these jobs, the latest of each; whether all of it is named."""
    most = max(1, min(MOST_TIMES_NAMED, MOST_ENTRIES // max(1, len(jobs))))
    start, end = reach
    rows = await context.fetch("reading/list_happened_of", jobs=jobs, start=start, end=end, most=most)
    for row in rows:
        failed = row["status"] in ("dead", "expired")
        hours.add([row["scheduled_at"]], row["occurrences"] or 1, int(failed))
    entries += map(_ended, rows)
    return max(Counter(row["job_id"] for row in rows).values(), default=0) < most


async def _happened(
    context: Context,
    reach: tuple[datetime, datetime],
    others: Sequence[str],
    entries: list[AgendaEntry],
    hours: _Hours,
) -> bool:
    """What is over; whether all of it is named."""
    start, end = reach
    first = start.replace(minute=0, second=0, microsecond=0)
    for row in await context.fetch("activity/by_hour", namespace=context.namespace, start=first, end=end):
        hours.add([row["hour"]], row["count"], row["failed"])
    rows: Sequence[Record] = await context.fetch(
        "reading/list_happened",
        namespace=context.namespace,
        start=start,
        end=end,
        others=others,
        most=MOST_ENTRIES + 1,
    )
    complete = len(rows) <= MOST_ENTRIES
    if not complete:
        rows = await _worth_naming(context, start, end, others)
    entries += map(_ended, rows)
    return complete


async def _worth_naming(
    context: Context, start: datetime, end: datetime, others: Sequence[str]
) -> Sequence[Record]:
    """Of a past that is too much to name: what failed, and the runs of jobs that fire seldom."""
    failed = await context.fetch(
        "reading/list_failed_between",
        namespace=context.namespace,
        start=start,
        end=end,
        others=others,
        most=MOST_FAILED,
    )
    jobs = await context.fetch(
        "jobs/list_planned",
        namespace=context.namespace,
        end=await context.time() + FAR,
        jobs=None,
        others=others,
        most=MOST_ENTRIES + 1,
    )
    if len(jobs) > MOST_ENTRIES:
        return failed
    seldom: list[int] = []
    began = clock.monotonic()
    for row in sorted(jobs, key=lambda each: each["due_at"], reverse=True):
        if len(seldom) == MOST_SELDOM or clock.monotonic() - began > WORK_SECONDS:
            break
        schedule = _schedule(dict(row))
        if schedule is None or len(list(islice(schedule.between(start, end), MOST_TIMES_NAMED + 1))) <= (
            MOST_TIMES_NAMED
        ):
            seldom.append(row["id"])
    named = {"start": start, "end": end, "most": MOST_TIMES_NAMED}
    known = await context.fetch("reading/list_happened_of", jobs=seldom, **named)
    return [*known, *(row for row in failed if row["job_id"] not in set(seldom))]


def _ended(row: Record) -> AgendaEntry:
    at, fired_at = row["scheduled_at"], row["fired_at"]
    return AgendaEntry(
        kind="job",
        at=at,
        local=_local(at, row["timezone"]),
        timezone=row["timezone"],
        title=row["name"],
        id=encode_id("j", row["job_id"]),
        job_id=encode_id("j", row["job_id"]),
        run_id=row["run_id"] and encode_id("r", row["run_id"]),
        status=row["status"],
        count=row["occurrences"] or 1,
        schedule=row["schedule"],
        late_seconds=None if fired_at is None else max(0.0, (fired_at - at).total_seconds()),
    )


async def _planned(
    context: Context,
    reach: tuple[datetime, datetime],
    timezone: str,
    others: Sequence[str],
    jobs: Sequence[int] | None,
    entries: list[AgendaEntry],
    hours: _Hours,
    ahead: PlannedHours,
) -> bool:
    """What is to come, of these jobs or of all; whether all of it is named."""
    start, end = reach
    rows = await context.fetch(
        "jobs/list_planned",
        namespace=context.namespace,
        end=end,
        jobs=jobs,
        others=others,
        most=MOST_ENTRIES + 1,
    )
    if len(rows) > MOST_ENTRIES:
        found_hours, estimated = await ahead.count(context, start, end, others, read=_schedule, times=_times)
        for at, count in found_hours.items():
            hours.add([at], count)
        hours.estimated = estimated
        return False
    alike: dict[tuple[Any, ...], list[Record]] = {}
    for row in rows:
        alike.setdefault((row["timing_key"], row["scheduled_at"], row["runs_left"]), []).append(row)
    began, found, complete, done = clock.monotonic(), _Hours(), True, 0
    # Those that are due late fire seldom: they come first, and have room and time for sure.
    latest_first = sorted(alike.items(), key=lambda each: each[0][1], reverse=True)
    for number, ((_, scheduled_at, runs_left), same) in enumerate(latest_first):
        if number >= ALWAYS_WORKED_OUT and clock.monotonic() - began > WORK_SECONDS:
            hours.estimated, complete = True, False
            break
        schedule = _schedule(dict(same[0]))
        done += len(same)
        room = max(0, MOST_ENTRIES + 1 - len(entries))
        named = None if runs_left is not None else _by_hour(schedule, scheduled_at, start, end, timezone)
        if named is None:
            times = _times(schedule, scheduled_at, start, end, runs_left)
            found.add(times, len(same))
            named = _named(times, timezone)
        else:
            for at, count in named:
                found.add([at], len(same) * count)
            named = _few(named, timezone)
        complete = complete and len(named) * len(same) <= room
        entries += [_upcoming(row, at, count) for row, (at, count) in islice(product(same, named), room)]
        await clock.sleep(0)
    hours.plus(found, len(rows) / done if done else 1.0)
    return complete


def _named(times: Sequence[datetime], timezone: str) -> list[tuple[datetime, int]]:
    """The times of a job that are named, and how many each of them stands for: the first of each hour or day
    where there are many."""
    if len(times) <= MOST_TIMES_NAMED:
        return [(at, 1) for at in times]
    info = _info(timezone)
    by_hour: dict[datetime, list[datetime]] = {}
    for at in times:
        by_hour.setdefault(at.astimezone(info).replace(minute=0, second=0, microsecond=0), []).append(at)
    groups = list(by_hour.values())
    if len(groups) > MOST_HOURS_NAMED:
        by_day: dict[date, list[datetime]] = {}
        for at in times:
            by_day.setdefault(at.astimezone(info).date(), []).append(at)
        groups = list(by_day.values())
    return [(group[0], len(group)) for group in groups]


def _by_hour(
    schedule: Schedule | None, scheduled_at: datetime, start: datetime, end: datetime, timezone: str
) -> list[tuple[datetime, int]] | None:
    """The first time of each hour of a job that fires often, and how many there are, by arithmetic. None if
    it does not fire often, or has to be gone through."""
    info = _info(timezone)
    if schedule is None or (start.astimezone(info).utcoffset() or timedelta()) % HOUR:
        return None
    after = max(scheduled_at, start) - MICROSECOND
    many = schedule.count(after, end - MICROSECOND)
    if many is None or many <= MOST_TIMES_LISTED:
        return None
    found: list[tuple[datetime, int]] = []
    while True:
        at = schedule.next_after(after)
        if at is None or at >= end:
            return found
        after = min(at.replace(minute=0, second=0, microsecond=0) + HOUR, end) - MICROSECOND
        count = schedule.count(at - MICROSECOND, after)
        if count is None:
            return None
        found.append((at, count))


def _few(hours: list[tuple[datetime, int]], timezone: str) -> list[tuple[datetime, int]]:
    """By the day, if there are many hours."""
    if len(hours) <= MOST_HOURS_NAMED:
        return hours
    info = _info(timezone)
    days: dict[date, tuple[datetime, int]] = {}
    for at, count in hours:
        day = at.astimezone(info).date()
        first, known = days.get(day, (at, 0))
        days[day] = first, known + count
    return list(days.values())


def _info(timezone: str) -> tzinfo:
    return zone(timezone).info if timezone in zone_names() else UTC


def _upcoming(row: Record, at: datetime, count: int) -> AgendaEntry:
    return AgendaEntry(
        kind="job",
        at=at,
        local=_local(at, row["timezone"]),
        timezone=row["timezone"],
        title=row["name"],
        id=encode_id("j", row["id"]),
        job_id=encode_id("j", row["id"]),
        status="upcoming",
        movable=row["kind"] == "once",
        revision=row["revision"],
        count=count,
        schedule=row["schedule"],
    )


def _schedule(row: Mapping[str, Any]) -> Schedule | None:
    """None for a single time, and for what cannot be computed: its job is set aside when it is due."""
    if row["kind"] == "once":
        return None
    try:
        return schedule_of(row)
    except (SextonError, OverflowError):
        return None


def _times(
    schedule: Schedule | None, scheduled_at: datetime, start: datetime, end: datetime, runs_left: int | None
) -> list[datetime]:
    """The occurrences of a job in a range, from where its timer stands on."""
    first = [scheduled_at] if start <= scheduled_at < end else []
    if schedule is None:
        return first
    # Runs that are left may be used up before the range begins.
    after = scheduled_at if runs_left is not None else max(scheduled_at, start - MICROSECOND)
    most = MOST_TIMES if runs_left is None else max(0, runs_left - 1)
    try:
        return first + [at for at in islice(schedule.between(after, end), most) if start <= at < end]
    except (SextonError, OverflowError):
        return first


def _local(at: datetime, timezone: str) -> str:
    if timezone not in zone_names():
        return at.isoformat()
    return at.astimezone(zone(timezone).info).isoformat()
