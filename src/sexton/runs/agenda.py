"""What is planned in a range of time, and what happened in it.

With few jobs due in the range, each occurrence is an entry. With more, occurrences are counted by the hour,
and each schedule is computed once for all jobs that share it. The time for this is bounded: with very many
schedules, those that fire seldom and a random sample of the others are computed and scaled up, and the answer
is marked as an estimate. The past comes from history, its hours from the counts of `activity`; if it has too
many runs, only jobs that fire seldom and runs that failed are entries. A job that fires often is one entry
for each hour or day with a count, because it would displace all other jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice, product
from typing import Annotated, Literal

import msgspec
from asyncpg import Record

from sexton import clock
from sexton.clock import iso
from sexton.errors import InvalidField, SextonError
from sexton.jobs.clock_change import ClockChange, clock_changes
from sexton.jobs.filter import JobFilter
from sexton.jobs.moment import local_iso
from sexton.model import encode_id
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.runs.planned_hours import PlannedHours
from sexton.runs.planned_times import (
    MOST_TIMES_NAMED,
    WORK_SECONDS,
    AgendaHour,
    Alike,
    Hours,
    read_schedule,
    times_of,
    work_out,
)
from sexton.schedules import Schedule

LONGEST_RANGE = timedelta(days=62)
MOST_ENTRIES = 2000
# The entries of a past with too many runs: jobs that fire seldom, and runs that failed.
MOST_SELDOM, MOST_FAILED = 200, 500
FAR = timedelta(days=400)


class AgendaEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One time of a job, of content or of a campaign: planned, or what became of it."""

    kind: Annotated[Literal["job", "content", "release", "campaign"], about("The kind of the entry.")]
    at: Annotated[datetime, about("The time of the entry.")]
    local: Annotated[str, about("The time on the wall clock of its zone.")]
    timezone: Annotated[str, about("Its zone.")]
    title: Annotated[str, about("The name of the entry.")]
    id: Annotated[str, about("The id of the job, planned action, release or campaign.")]
    job_id: Annotated[str | None, about("The id of the job, if it is one.")] = None
    run_id: Annotated[str | None, about("The run, if it has fired.")] = None
    status: Annotated[str, about("upcoming, or what became of it.")]
    action: Annotated[str | None, about("For content: publish, unpublish or archive.")] = None
    movable: Annotated[bool, about("Whether it can be moved to another time.")] = False
    revision: Annotated[int | None, about("The revision, if it can be moved.")] = None
    count: Annotated[int, about("How many occurrences it stands for.")] = 1
    schedule: Annotated[str | None, about("For a job: its schedule, as it was written.")] = None
    subject: Annotated[str | None, about("For content: the entity, `type/id`.")] = None
    late_seconds: Annotated[float | None, about("How much later than planned it fired.")] = None
    needs_approval: Annotated[
        bool, about("For content: whether it still lacks the approval that it needs to go out.")
    ] = False


class Agenda(msgspec.Struct, frozen=True, kw_only=True):
    """A range of time: one by one where there is room, and by the hour."""

    start: Annotated[datetime, about("The first instant.")]
    end: Annotated[datetime, about("The end; the instant itself is not included.")]
    timezone: Annotated[str, about("The zone of the clock changes.")]
    entries: Annotated[list[AgendaEntry], about(f"In the order of time; at most {MOST_ENTRIES:,}.")]
    complete: Annotated[
        bool, about("False if there are more entries than `entries` holds: see `density`.")
    ] = True
    density: Annotated[list[AgendaHour], about("The entries of each hour, by their number.")]
    estimated: Annotated[bool, about("True if there are too many to count all of them.")] = False
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
    """The agenda of the jobs of the namespace between two instants. Jobs with targets of the kinds in
    `others` are left out, because content and campaigns show them as their own entries. `label` is `name` or
    `name=value`. `ahead` caches the occurrences of schedules between calls."""
    empty = empty_agenda(start, end, timezone)
    now = await context.time()
    hours = Hours()
    entries: list[AgendaEntry] = []
    complete = True
    if start < now:
        past = start, min(end, now)
        if label is None:
            complete = await _happened(context, past, others, entries, hours)
        else:
            complete = await _happened_of(context, past, label, others, entries, hours)
    if end > now:
        reach = max(start, now), end
        all_named = await _planned(
            context, reach, timezone, label, others, entries, hours, ahead or PlannedHours()
        )
        complete = complete and all_named
    entries.sort(key=lambda each: each.at)
    return msgspec.structs.replace(
        empty,
        entries=entries[:MOST_ENTRIES],
        complete=complete and len(entries) <= MOST_ENTRIES,
        density=hours.shown(),
        estimated=hours.estimated,
    )


def empty_agenda(start: datetime, end: datetime, timezone: str) -> Agenda:
    """An agenda without entries; only with the clock changes of the range."""
    if end <= start:
        raise InvalidField(
            "bad_range",
            f"end, {iso(end)}, is not after start, {iso(start)}",
            field="end",
            hint="give a later end",
        )
    if end - start > LONGEST_RANGE:
        hint = "ask for several shorter ranges"
        raise InvalidField(
            "too_long", f"the range has more than {LONGEST_RANGE.days} days", field="end", hint=hint
        )
    changes = clock_changes(timezone, start, end)
    return Agenda(start=start, end=end, timezone=timezone, entries=[], density=[], clock_changes=changes)


async def _labelled(
    context: Context, label: str, others: Sequence[str], hours: Hours, end: datetime | None = None
) -> tuple[list[int], bool]:
    """The latest jobs with a label, with `end` those that are due before it; and whether these are all."""
    chosen = JobFilter(label=label).parameters()
    rows = await context.fetch(
        "jobs/list_labelled",
        label=chosen["label"],
        labels=chosen["labels"],
        others=others,
        end=end,
        most=MOST_ENTRIES + 1,
    )
    complete = len(rows) <= MOST_ENTRIES
    hours.estimated = hours.estimated or not complete
    return [row["id"] for row in rows[:MOST_ENTRIES]], complete


async def _happened_of(
    context: Context,
    reach: tuple[datetime, datetime],
    label: str,
    others: Sequence[str],
    entries: list[AgendaEntry],
    hours: Hours,
) -> bool:
    """Add the past runs of jobs with a label, the latest of each. Returns whether these are all. The hours
    count only these."""
    jobs, complete = await _labelled(context, label, others, hours)
    most = max(1, min(MOST_TIMES_NAMED, MOST_ENTRIES // max(1, len(jobs))))
    start, end = reach
    rows = await context.fetch("reading/list_happened_of", jobs=jobs, start=start, end=end, most=most + 1)
    named = Counter[int]()
    for row in rows:
        named[row["job_id"]] += 1
        if named[row["job_id"]] > most:
            hours.estimated, complete = True, False
            continue
        failed = row["status"] in ("dead", "expired")
        hours.add([row["scheduled_at"]], row["occurrences"] or 1, int(failed))
        entries.append(_ended(row))
    return complete


async def _happened(
    context: Context,
    reach: tuple[datetime, datetime],
    others: Sequence[str],
    entries: list[AgendaEntry],
    hours: Hours,
) -> bool:
    """Add past runs. Returns whether these are all."""
    start, end = reach
    first = start.replace(minute=0, second=0, microsecond=0)
    for row in await context.fetch("activity/count_by_hour", start=first, end=end):
        hours.add([row["hour"]], row["count"], row["failed"])
    rows: Sequence[Record] = await context.fetch(
        "reading/list_happened", start=start, end=end, others=others, most=MOST_ENTRIES + 1
    )
    complete = len(rows) <= MOST_ENTRIES
    if not complete:
        rows = await _worth_naming(context, start, end, others)
    entries += map(_ended, rows)
    return complete


async def _worth_naming(
    context: Context, start: datetime, end: datetime, others: Sequence[str]
) -> Sequence[Record]:
    """The failed runs, and the runs of jobs that fire seldom, of a past with too many runs."""
    failed = await context.fetch(
        "reading/list_failed_between", start=start, end=end, others=others, most=MOST_FAILED
    )
    jobs = await context.fetch(
        "jobs/list_planned", end=await context.time() + FAR, jobs=None, others=others, most=MOST_ENTRIES + 1
    )
    if len(jobs) > MOST_ENTRIES:
        return failed
    seldom: list[int] = []
    began = clock.monotonic()
    for row in sorted(jobs, key=lambda each: each["due_at"], reverse=True):
        if len(seldom) == MOST_SELDOM or clock.monotonic() - began > WORK_SECONDS:
            break
        if _is_seldom(read_schedule(dict(row)), start, end):
            seldom.append(row["id"])
    named = {"start": start, "end": end, "most": MOST_TIMES_NAMED}
    known = await context.fetch("reading/list_happened_of", jobs=seldom, **named)
    return [*known, *(row for row in failed if row["job_id"] not in set(seldom))]


def _is_seldom(schedule: Schedule | None, start: datetime, end: datetime) -> bool:
    if schedule is None:
        return True
    try:
        return sum(1 for _ in islice(schedule.between(start, end), MOST_TIMES_NAMED + 1)) <= MOST_TIMES_NAMED
    except (SextonError, OverflowError):
        return False


def _ended(row: Record) -> AgendaEntry:
    at, fired_at = row["scheduled_at"], row["fired_at"]
    return AgendaEntry(
        kind="job",
        at=at,
        local=local_iso(at, row["timezone"]) or at.isoformat(),
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
    label: str | None,
    others: Sequence[str],
    entries: list[AgendaEntry],
    hours: Hours,
    ahead: PlannedHours,
) -> bool:
    """Add future occurrences of the jobs with a label, or of all jobs. Returns whether these are all."""
    start, end = reach
    jobs, complete = None, True
    if label is not None:
        jobs, complete = await _labelled(context, label, others, hours, end)
    rows = await context.fetch("jobs/list_planned", end=end, jobs=jobs, others=others, most=MOST_ENTRIES + 1)
    if len(rows) > MOST_ENTRIES:
        found_hours, estimated = await ahead.count(
            context, start, end, others, read=read_schedule, times=times_of
        )
        for at, count in found_hours.items():
            hours.add([at], count)
        hours.estimated = hours.estimated or estimated
        return False
    alike: dict[Alike, list[Record]] = {}
    for row in rows:
        alike.setdefault((row["timing_key"], row["scheduled_at"], row["runs_left"]), []).append(row)
    named, all_of_them = await work_out(alike, start, end, timezone, hours)
    complete = complete and all_of_them
    # Jobs whose next occurrence is late in the range fire seldom: they come first.
    for key in sorted(named, key=lambda each: each[1], reverse=True):
        same, room = alike[key], max(0, MOST_ENTRIES + 1 - len(entries))
        complete = complete and len(named[key]) * len(same) <= room
        entries += [_upcoming(row, at, count) for row, (at, count) in islice(product(same, named[key]), room)]
    return complete


def _upcoming(row: Record, at: datetime, count: int) -> AgendaEntry:
    return AgendaEntry(
        kind="job",
        at=at,
        local=local_iso(at, row["timezone"]) or at.isoformat(),
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
