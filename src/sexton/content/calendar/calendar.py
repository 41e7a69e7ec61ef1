"""The calendar: planned and past actions in a range of time.

Single actions are read in the order of their time. A series is expanded by the schedule of its job, so by the
code that fires it. Times before its timer come from history. All are merged lazily, so a page of a minutely
rule costs no more than one of a yearly rule.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Annotated, Any, NamedTuple

import msgspec
from asyncpg import Record

from sexton.clock import iso
from sexton.content.model import RELEASE, Action, Entity
from sexton.content.read import MICROSECOND, STATUS_OF_RUN, in_words, job_of_row, view
from sexton.errors import InvalidField, SextonError
from sexton.jobs.moment import display, end_of_window, find_zone, midnight, read_moment
from sexton.jobs.stored import StoredJob
from sexton.model import encode_id
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.schedules import Schedule

LONGEST_RANGE = timedelta(days=400)
# Series are expanded in memory: with more of them the caller must filter by author or type.
MOST_SERIES = 5000
MANY = 200  # more series are expanded in a thread, so that the event loop goes on
YEAR = timedelta(days=366)
DAY, NOTHING = timedelta(days=1), timedelta(0)
LEFT_OUT = "this time was skipped"


class CalendarEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One time of an action."""

    scheduled_at_utc: Annotated[datetime, about("The planned time.")]
    timezone: Annotated[str, about("The zone of the wall clock.")]
    local_time_display: Annotated[str, about("The planned time on the wall clock, with the zone.")]
    schedule_id: Annotated[str, about("The action, `c_…`.")]
    content_id: Annotated[str, about("The entity, `type/id`.")]
    entity_type: Annotated[str, about("The type of the entity.")]
    entity_id: Annotated[str, about("The id of the entity within its type.")]
    title: Annotated[str | None, about("The `title` or `name` of its latest version.")] = None
    action: Annotated[Action, about("publish, unpublish or archive.")]
    status: Annotated[str, about("pending, processing, done, failed, skipped or cancelled.")]
    last_error: Annotated[str | None, about("Why it failed, or was skipped.")] = None
    execution_id: Annotated[str | None, about("The run, if it was begun.")] = None
    version: Annotated[int | None, about("Which version goes out; null: the latest at that time.")] = None
    note: Annotated[str | None, about("A note for people.")] = None
    adapter: Annotated[str, about("Where the entity lives.")]
    created_by: Annotated[str, about("Who planned it.")]
    created_at: Annotated[datetime, about("When it was planned.")]
    revision: Annotated[int, about("Grows with every change.")]
    needs_approval: Annotated[bool, about("Whether it does not go out unless it was approved.")] = False
    approved_by: Annotated[str | None, about("Who approved it.")] = None
    window_id: Annotated[str | None, about("The window that it opens or closes.")] = None
    release_id: Annotated[str | None, about("The release that it goes out with.")] = None
    recurrence_rule: Annotated[str | None, about("The RRULE of its series.")] = None
    previous_at: Annotated[datetime | None, about("The time of the series before this one.")] = None
    next_at: Annotated[datetime | None, about("The time of the series after this one.")] = None
    occurrences: Annotated[int | None, about("How many times in a row were skipped alike.")] = None


class CalendarPlace(NamedTuple):
    """The place of an entry. If a window of a series ends when the next one begins, the end comes first."""

    at: datetime
    number: int
    begins: int = 1


@dataclass(frozen=True, slots=True)
class FoundTime:
    """The data of an entry."""

    place: CalendarPlace
    row: Record
    action: Action
    status: str
    error: str | None = None
    run_id: int | None = None
    occurrences: int | None = None

    def __lt__(self, other: FoundTime) -> bool:
        return self.place < other.place


def read_range(start: str, end: str, timezone: str | None) -> tuple[datetime, datetime]:
    """Read a range: instants, or local times or dates with a zone. The end is exclusive."""
    return _checked(_read(start, timezone, "start"), _read(end, timezone, "end"))


def _checked(first: datetime, last: datetime) -> tuple[datetime, datetime]:
    if last <= first:
        raise InvalidField(
            "bad_range",
            f"end, {iso(last)}, is not after start, {iso(first)}",
            field="end",
            hint="give a later end",
        )
    if last - first > LONGEST_RANGE:
        raise InvalidField(
            "too_long",
            f"the range has more than {LONGEST_RANGE.days} days",
            field="end",
            hint="ask for several shorter ranges",
        )
    return first, last


def _read(text: str, timezone: str | None, field: str) -> datetime:
    day = midnight(text, timezone, field)
    return day or read_moment(text, None, timezone, field=field, fold="first", gap="after").at


@query
async def list_calendar(
    context: Context,
    start: datetime,
    end: datetime,
    *,
    timezone: str | None = None,
    schedule: int | None = None,
    entity_type: str | None = None,
    entity_id: str | None = None,
    created_by: str | None = None,
    adapter: str | None = None,
    action: str | None = None,
    status: str | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[CalendarEntry]:
    """The entries from `start` up to `end`, in order of time. Cancelled actions are shown only if `status`
    asks for them. With `schedule`, only the times of this action."""
    after = CalendarPlace(start - MICROSECOND, 0)
    if cursor is not None:
        after = max(after, CalendarPlace(*decode_cursor(cursor, tuple[datetime, Number, Number])))
    if timezone is not None:
        find_zone(timezone)
    filters: dict[str, Any] = {
        "end": end,
        "entity_type": entity_type,
        "entity_id": entity_id,
        "created_by": created_by,
        "adapter": adapter,
        "schedule_id": schedule,
    }
    async with context.planned_anew("repeatable_read"):
        single = await context.fetch(
            "content/list_calendar",
            start=start,
            after_at=after.at,
            after_id=after.number,
            action=action,
            cancelled=status == "cancelled",
            limit=limit + 1,
            **filters,
        )
        series = await context.fetch("content/list_series", limit=MOST_SERIES + 1, **filters)
        past = await context.fetch(
            "content/list_series_past",
            ids=[row["id"] for row in series],
            job_ids=[row["job_id"] for row in series],
            start=start,
            end=end,
            after_at=after.at,
            after_id=after.number,
            limit=limit + 1,
        )
    if len(series) > MOST_SERIES:
        raise InvalidField(
            "too_many",
            f"there are more than {MOST_SERIES:,} series",
            field="entity_type",
            hint="ask for those of one entity_type or created_by",
        )
    merge = _Merge(series, past, after, end, action, status, timezone, limit)
    many = len(series) >= MANY
    return await asyncio.to_thread(merge.page, single) if many else merge.page(single)


@query
async def list_times(
    context: Context,
    number: int,
    *,
    start: str | None = None,
    end: str | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[CalendarEntry]:
    """The times of one action, each with the times before and after it. The default range is one year from
    now. Local times and dates are in the zone of the action."""
    timezone = (await view(context, number)).timezone
    first = await context.time() if start is None else _read(start, timezone, "start")
    last = first + YEAR if end is None else _read(end, timezone, "end")
    return await list_calendar(context, *_checked(first, last), schedule=number, cursor=cursor, limit=limit)


@dataclass(frozen=True, slots=True)
class _Merge:
    """Merges rows into a page."""

    series: list[Record]
    past: list[Record]
    after: CalendarPlace
    end: datetime
    action: str | None
    status: str | None
    timezone: str | None
    limit: int

    def page(self, single: list[Record]) -> Page[CalendarEntry]:
        # After the last row of a list that was cut off, the entries of the others belong to the next page.
        end = horizon = CalendarPlace(self.end, 0)
        for rows in (single, self.past):
            if len(rows) > self.limit:
                horizon = min(horizon, CalendarPlace(rows[-1]["scheduled_at"], rows[-1]["id"], 0))
        parts: list[Iterable[FoundTime]] = [map(_single, single), self._happened()]
        parts += [self._expanded(row) for row in self.series if row["timer_at"] and row["job_schedule"]]
        within = takewhile(lambda each: each.place < horizon, heapq.merge(*parts))
        chosen = list(islice(filter(self._wanted, within), self.limit + 1))
        found = [(encode_cursor(*each.place), self._shown(each)) for each in chosen]
        page = make_page(found, self.limit)
        if page.cursor is None and horizon < end:
            return Page(page.items, encode_cursor(horizon.at, horizon.number - 1, 1))
        return page

    def _wanted(self, found: FoundTime) -> bool:
        return (
            found.place > self.after
            and (self.status is None or found.status == self.status)
            and (self.action is None or found.action == self.action)
        )

    def _happened(self) -> Iterator[FoundTime]:
        """The past occurrences of series."""
        rows = {row["id"]: row for row in self.series}
        for each in self.past:
            row = rows[each["id"]]
            status = STATUS_OF_RUN.get(each["status"], "processing")
            error = None if status == "done" else each["error"] or in_words(each["reason"])
            place = CalendarPlace(each["scheduled_at"], row["id"])
            yield FoundTime(
                place, row, Action(row["action"]), status, error, each["run_id"], each["occurrences"]
            )

    def _expanded(self, row: Record) -> Iterator[FoundTime]:
        """The future occurrences of a series, in order, with the ends of its windows. These are planned only
        when a window opens."""
        schedule = _schedule(row)
        if schedule is None or row["cancelled_at"] is not None:
            return
        open_for = row["open_for"]
        first = max(row["timer_at"], self.after.at - (open_for + DAY if open_for else NOTHING)) - MICROSECOND
        closings: list[FoundTime] = []
        for at in schedule.between(first, self.end - MICROSECOND):
            while closings and closings[0].place.at <= at:
                yield heapq.heappop(closings)
            left_out = at in row["skipped"]
            status, error = ("skipped", LEFT_OUT) if left_out else ("pending", None)
            yield FoundTime(CalendarPlace(at, row["id"]), row, Action(row["action"]), status, error)
            if open_for is not None and not left_out:
                place = CalendarPlace(end_of_window(at, open_for, row["timezone"]).at, row["id"], 0)
                heapq.heappush(closings, FoundTime(place, row, Action.UNPUBLISH, "pending"))
        yield from sorted(each for each in closings if each.place.at < self.end)

    def _shown(self, found: FoundTime) -> CalendarEntry:
        row, at, closes = found.row, found.place.at, not found.place.begins
        timezone = self.timezone or row["timezone"]
        schedule = _schedule(row) if row["recurrence_rule"] is not None and not closes else None
        return from_row(
            CalendarEntry,
            row,
            scheduled_at_utc=at,
            timezone=timezone,
            local_time_display=display(at, timezone),
            schedule_id=encode_id("c", row["id"]),
            content_id=str(Entity.of(row)),
            title=row["entity_title"],
            action=found.action,
            status=found.status,
            last_error=found.error,
            execution_id=None if found.run_id is None else encode_id("r", found.run_id),
            version=None if closes else row["version"],
            window_id=row["window_id"] and encode_id("c", row["window_id"]),
            release_id=row["release_id"] and encode_id(RELEASE, row["release_id"]),
            previous_at=None if schedule is None else schedule.previous_before(at),
            next_at=None if schedule is None else schedule.next_after(at),
            occurrences=found.occurrences,
        )


def _single(row: Record) -> FoundTime:
    failed = row["status"] in ("failed", "skipped")
    error = row["error"] or row["latest_error"] or in_words(row["latest_reason"]) if failed else None
    place = CalendarPlace(row["scheduled_at"], row["id"])
    return FoundTime(place, row, Action(row["action"]), row["status"], error, row["run_id"])


def _schedule(row: Record) -> Schedule | None:
    """The schedule of a series; None if its job was deleted or is set aside."""
    try:
        return None if row["job_schedule"] is None else StoredJob(job_of_row(row)).schedule
    except SextonError:
        return None
