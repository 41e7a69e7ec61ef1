"""Planned actions with their status, which comes from the runs of their jobs.

pending     its time is in the future
processing  it fired and has not ended: it is running, or waits for a retry
done        it was carried out, or had no effect
failed      it failed for good; `sexton dead` lists it
skipped     it was not carried out at its time: missed, not approved, moved, not opened
cancelled   it was cancelled
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Literal

import asyncpg
import msgspec

from sexton.content.model import MISSED, RELEASE, Action, Entity
from sexton.errors import SextonError
from sexton.jobs.moment import display
from sexton.jobs.spec import DEFAULTS
from sexton.jobs.stored import StoredJob
from sexton.model import SkipReason, encode_id
from sexton.postgres.estimate import MOST_EXACT, Total, expected, figures
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, query
from sexton.refusal import about, not_found

NEXT_TIMES = 5
# The most actions that are read for a page, however few of them match the filters.
MOST_LOOKED_AT = 10_000
# The most whose status is found out to count them: it is in the ledger, so each needs several rows of others.
MOST_COUNTED = 3_000
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
ScheduleSort = Literal["scheduled_at", "-scheduled_at"]
# Where a list begins, in either order.
PLACES: dict[ScheduleSort, tuple[datetime, int]] = {"scheduled_at": (FIRST, 0), "-scheduled_at": (LAST, 0)}
MICROSECOND = timedelta(microseconds=1)
STATUS_OF_RUN = {
    "success": "done",
    "dead": "failed",
    "cancelled": "skipped",
    "expired": "skipped",
    "skipped": "skipped",
}
# For an item of a release, after its first attempt.
STATUS_OF_ITEM = {
    "changed": "done",
    "no_op": "done",
    "failed": "failed",
    "skipped": "skipped",
    "undone": "skipped",
    "not_undone": "done",
}
REASONS: dict[str, str] = {
    SkipReason.MISSED: "missed",
    SkipReason.OUTSIDE_CATCH_UP: MISSED,
    SkipReason.COALESCED: "missed, and a later time was carried out instead",
    SkipReason.MAX_MISSED: "missed, with too many others",
    SkipReason.DST_GAP: "this local time does not exist: the clock jumps over it",
    SkipReason.RESCHEDULED: "it was moved to another time",
    SkipReason.PAUSED: "its job was paused",
    SkipReason.QUOTA: "its namespace had as many live runs as its quota allows",
    SkipReason.DELETED: "its job was deleted, and restored later",
}


class ScheduleView(msgspec.Struct, frozen=True, kw_only=True):
    """A planned action."""

    schedule_id: Annotated[str, about("Its id, `c_…`.")]
    content_id: Annotated[str, about("The entity, `type/id`.")]
    entity_type: Annotated[str, about("The type of the entity.")]
    entity_id: Annotated[str, about("The id of the entity within its type.")]
    title: Annotated[str | None, about("The `title` or `name` of its latest version.")] = None
    action: Annotated[Action, about("publish, unpublish or archive.")]
    status: Annotated[str, about("pending, processing, done, failed, skipped or cancelled.")]
    scheduled_at_utc: Annotated[
        datetime, about("The planned time; for a series the next time, or the last one.")
    ]
    timezone: Annotated[str, about("The zone of the wall clock.")]
    local_time_display: Annotated[str, about("The planned time on the wall clock, with the zone.")]
    recurrence_rule: Annotated[str | None, about("The RRULE of a series.")] = None
    next_times: Annotated[list[datetime], about("The next five times.")] = []
    skipped_times: Annotated[list[datetime], about("Times of a series that are left out.")] = []
    version: Annotated[int | None, about("Which version goes out; null: the latest at that time.")] = None
    adapter: Annotated[str, about("Where the entity lives.")]
    retry_count: Annotated[int, about("How often the latest occurrence was tried again.")] = 0
    max_retries: Annotated[int, about("Tries after the first one.")] = 3
    catch_up_seconds: Annotated[int | None, about("If it is missed by more than this, it is skipped.")] = None
    last_error: Annotated[str | None, about("Why the latest occurrence failed, or was skipped.")] = None
    note: Annotated[str | None, about("A note for people.")] = None
    created_by: Annotated[str, about("Who planned it.")]
    created_at: Annotated[datetime, about("When it was planned.")]
    executed_at: Annotated[datetime | None, about("When the latest occurrence went out.")] = None
    needs_approval: Annotated[bool, about("Whether it does not go out unless it was approved.")] = False
    approved_by: Annotated[str | None, about("Who approved it.")] = None
    approved_at: Annotated[datetime | None, about("When it was approved.")] = None
    cancelled_by: Annotated[str | None, about("Who cancelled it.")] = None
    cancelled_at: Annotated[datetime | None, about("When it was cancelled.")] = None
    window_id: Annotated[str | None, about("The window that it opens or closes.")] = None
    window_opens_at: Annotated[
        datetime | None,
        about("Of what closes a window: when the window opens, or was opened; null if it was not."),
    ] = None
    release_id: Annotated[str | None, about("The release that it goes out with.")] = None
    job_id: Annotated[str | None, about("The job that fires it.")] = None
    revision: Annotated[int, about("Grows with every change.")]
    warnings: Annotated[
        list[str],
        about("Warnings when it is planned: why it would fail as things are, if the adapter is `builtin`."),
    ] = []


class WindowView(msgspec.Struct, frozen=True, kw_only=True):
    """A window. In a series, `ends` is planned each time a window opens."""

    window_id: Annotated[str, about("The id of the window: that of the action that opens it.")]
    starts: Annotated[ScheduleView, about("The action that opens the window.")]
    ends: Annotated[ScheduleView | None, about("The action that closes the window; null for a series.")] = (
        None
    )
    open_seconds: Annotated[
        float | None, about("For a series: how long the window is open, on the wall clock.")
    ] = None

    @classmethod
    def of(cls, starts: ScheduleView, ends: ScheduleView | None, open_for: timedelta | None) -> WindowView:
        return cls(
            window_id=starts.schedule_id,
            starts=starts,
            ends=ends,
            open_seconds=None if open_for is None else open_for.total_seconds(),
        )


def schedule_number(ref: str) -> int:
    """The number of a planned action, from its id, `c_…`."""
    return number_of("c", ref, "planned action")


@query
async def view(context: Context, number: int) -> ScheduleView:
    found = await views(context, [number])
    if not found:
        raise not_found("planned action", encode_id("c", number))
    return found[0]


async def views(context: Context, numbers: Sequence[int]) -> list[ScheduleView]:
    """The planned actions with these numbers, in this order."""
    rows = await context.fetch("content/view", ids=list(numbers))
    found = {row["id"]: _show(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def _show(row: asyncpg.Record) -> ScheduleView:
    next_times = _next_times(row)
    at = row["scheduled_at"]
    if row["recurrence_rule"] is not None:
        at = next_times[0] if next_times else row["latest_at"] or at
    status, error = _status(row, bool(next_times))
    return from_row(
        ScheduleView,
        row,
        schedule_id=encode_id("c", row["id"]),
        content_id=str(Entity.of(row)),
        title=row["entity_title"],
        action=Action(row["action"]),
        status=status,
        scheduled_at_utc=at,
        local_time_display=display(at, row["timezone"]),
        next_times=next_times,
        skipped_times=[time for time in row["skipped"] if row["timer_at"] and time >= row["timer_at"]],
        retry_count=max(0, (row["attempt"] or 1) - 1),
        max_retries=_option(row, "max_retries", DEFAULTS.max_retries),
        last_error=error,
        window_id=row["window_id"] and encode_id("c", row["window_id"]),
        release_id=row["release_id"] and encode_id(RELEASE, row["release_id"]),
        job_id=row["job_id"] and encode_id("j", row["job_id"]),
        warnings=[],
    )


def _status(row: asyncpg.Record, more: bool) -> tuple[str, str | None]:
    """The status, and the error of the latest occurrence."""
    if row["result"] is not None:
        return STATUS_OF_ITEM[row["result"]], row["item_error"]
    error = row["latest_error"] or in_words(row["latest_reason"])
    if row["cancelled_at"] is not None:
        return "cancelled", error
    # If it was moved while a retry was open, the run of that retry may end after the run that carried it out.
    if row["recurrence_rule"] is None and row["done_at"] is not None:
        return "done", None
    if row["live_state"] is not None:
        return "processing", row["live_error"]
    # A single action that was moved has a future time again, however its earlier run ended.
    if more:
        return "pending", error if row["latest_status"] not in (None, "success") else None
    if row["latest_status"] is None:
        # History is kept for a limited number of days.
        return ("done", None) if row["done_at"] is not None else ("skipped", "its record is gone")
    status = STATUS_OF_RUN[row["latest_status"]]
    return status, None if status == "done" else error


def in_words(reason: str | None) -> str | None:
    """The reason why an occurrence was not carried out, in words."""
    return None if reason is None else REASONS.get(reason, reason)


def _next_times(row: asyncpg.Record) -> list[datetime]:
    """The next times from that of the timer on, without skipped ones."""
    start = row["timer_at"]
    if start is None or row["cancelled_at"] is not None:
        return []
    if row["recurrence_rule"] is None:
        return [start]
    try:
        schedule = StoredJob(job_of_row(row)).schedule
        times = schedule.between(start - MICROSECOND, start + timedelta(days=3660))
        return list(islice((time for time in times if time not in row["skipped"]), NEXT_TIMES))
    except SextonError:
        return [start]


def job_of_row(row: asyncpg.Record) -> dict[str, Any]:
    """The columns `job_…` of a row, as a row of jobs."""
    return {name.removeprefix("job_"): value for name, value in row.items() if name.startswith("job_")}


def _option(row: asyncpg.Record, name: str, default: Any) -> Any:
    return (
        default if row["job_options"] is None else msgspec.json.decode(row["job_options"]).get(name, default)
    )


@query
async def list_schedules(
    context: Context,
    *,
    entity_type: str | None = None,
    entity_id: str | None = None,
    created_by: str | None = None,
    adapter: str | None = None,
    action: str | None = None,
    status: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    sort: ScheduleSort = "scheduled_at",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[ScheduleView]:
    """Planned actions in the order of their time, or the reverse; for a series, of its first time. The number
    of actions that are read for a page is limited, so a page may not be full."""
    place = PLACES[sort] if cursor is None else decode_cursor(cursor, tuple[datetime, Number])
    async with context.planned_anew():
        rows = await context.fetch(
            "content/list" if sort == "scheduled_at" else "content/list_latest",
            entity_type=entity_type,
            entity_id=entity_id,
            created_by=created_by,
            adapter=adapter,
            action=action,
            status=status,
            start=start,
            end=end,
            after_at=place[0],
            after_id=place[1],
            # Without the filters that no index serves, those that are looked at are those that are listed.
            look=limit + 1 if adapter is action is status is None else MOST_LOOKED_AT,
            limit=limit + 1,
        )
    places = [(row["id"], encode_cursor(row["scheduled_at"], row["id"])) for row in rows if row["found"]]
    shown = {each.schedule_id: each for each in await views(context, [number for number, _ in places])}
    found = [(place, shown[encode_id("c", number)]) for number, place in places]
    page = make_page(found, limit)
    if page.cursor is None and rows and not rows[-1]["found"]:
        return Page(page.items, encode_cursor(rows[-1]["scheduled_at"], rows[-1]["id"]))
    return page


@query
async def count_schedules(
    context: Context,
    *,
    entity_type: str | None = None,
    entity_id: str | None = None,
    created_by: str | None = None,
    adapter: str | None = None,
    action: str | None = None,
    status: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> Total | None:
    """How many there are of those that a list with these filters shows, if 10,000 are enough to tell, or with
    a status 3,000. Beyond that, the estimate of PostgreSQL's planner; None with a filter of which it knows
    nothing."""
    after_at, after_id = PLACES["scheduled_at"]
    asked: dict[str, Any] = {
        "namespace": context.namespace,
        "entity_type": entity_type,
        "entity_id": entity_id,
        "created_by": created_by,
        "adapter": adapter,
        "action": action,
        "status": status,
        "start": start,
        "end": end,
        "after_at": after_at,
        "after_id": after_id,
        "limit": None,
    }
    async with context.planned_anew():
        most = MOST_EXACT if status is None else MOST_COUNTED
        columns = "count(*) filter (where found) as found, coalesce(bool_or(not found), false) as cut"
        row = await figures(context, columns, "content/list", look=most + 1, **asked)
        if not row["cut"]:
            return Total(row["found"])
        if status == "pending":
            # What is pending is to come, but for the few that are late or paused.
            now = await context.time()
            asked |= {"status": None, "start": now if start is None else max(start, now)}
        if any(asked[name] is not None for name in ("adapter", "action", "status")):
            return None
        rows = await expected(context, "content/list", look=None, **asked)
        return Total(max(row["found"], rows), estimated=True)
