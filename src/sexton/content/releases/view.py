"""Reading releases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Annotated, Literal

import asyncpg
import msgspec

from sexton.content.model import RELEASE, Action, Entity, OnFailure
from sexton.content.read import STATUS_OF_ITEM, STATUS_OF_RUN
from sexton.content.releases.preflight import ReleaseFinding
from sexton.jobs.filter import pattern_of
from sexton.jobs.moment import display
from sexton.model import encode_id
from sexton.postgres.estimate import Total, total
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, query
from sexton.refusal import about, not_found

# Of all releases of a page together.
MOST_LISTED_ITEMS = 2000
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
ReleaseSort = Literal["scheduled_at", "-scheduled_at"]


class ReleaseItem(msgspec.Struct, frozen=True, kw_only=True):
    """One action of a release, and what became of it."""

    schedule_id: Annotated[str, about("Its id, `c_…`.")]
    content_id: Annotated[str, about("The entity, `type/id`.")]
    entity_type: Annotated[str, about("The type of the entity.")]
    entity_id: Annotated[str, about("The id of the entity within its type.")]
    title: Annotated[str | None, about("The `title` or `name` of its latest version.")] = None
    action: Annotated[Action, about("publish, unpublish or archive.")]
    version: Annotated[int | None, about("Which version goes out; null: the latest at that time.")] = None
    note: Annotated[str | None, about("A note for people.")] = None
    status: Annotated[str, about("pending, processing, done, failed, skipped or cancelled.")]
    result: Annotated[
        str | None, about("changed, no_op, failed, skipped, undone or not_undone; null: not tried yet.")
    ] = None
    error: Annotated[str | None, about("Why it failed, or was not carried out.")] = None


class ReleaseView(msgspec.Struct, frozen=True, kw_only=True):
    """Actions that go out together."""

    release_id: Annotated[str, about("Its id, `cr_…`.")]
    status: Annotated[str, about("pending, processing, done, failed, skipped or cancelled.")]
    scheduled_at_utc: Annotated[datetime, about("When it goes out.")]
    timezone: Annotated[str, about("The zone of the wall clock.")]
    local_time_display: Annotated[str, about("The planned time on the wall clock, with the zone.")]
    items: Annotated[list[ReleaseItem], about("The actions, in their order.")]
    on_failure: Annotated[OnFailure, about("undo, stop or continue.")]
    preflight_seconds: Annotated[int | None, about("How long before its time it is checked.")] = None
    checked_at: Annotated[datetime | None, about("When it was checked last.")] = None
    findings: Annotated[list[ReleaseFinding], about("What the last check found: why it would fail.")] = []
    adapter: Annotated[str, about("Where the entities live.")]
    retry_count: Annotated[int, about("How often it was tried again.")] = 0
    max_retries: Annotated[int, about("Tries after the first one.")]
    catch_up_seconds: Annotated[int, about("If it is missed by more than this, it is skipped.")]
    last_error: Annotated[str | None, about("Why it failed, or was skipped.")] = None
    note: Annotated[str | None, about("A note for people.")] = None
    created_by: Annotated[str, about("Who planned it.")]
    created_at: Annotated[datetime, about("When it was planned.")]
    executed_at: Annotated[datetime | None, about("When it went out.")] = None
    needs_approval: Annotated[bool, about("Whether it does not go out unless it was approved.")] = False
    approved_by: Annotated[str | None, about("Who approved it.")] = None
    approved_at: Annotated[datetime | None, about("When it was approved.")] = None
    cancelled_by: Annotated[str | None, about("Who cancelled it.")] = None
    cancelled_at: Annotated[datetime | None, about("When it was cancelled.")] = None
    job_id: Annotated[str, about("The job that fires it.")]
    revision: Annotated[int, about("Grows with every change.")]


@query
async def get_release(context: Context, ref: str) -> ReleaseView:
    found = await release_views(context, [number_of(RELEASE, ref, "release")])
    if not found:
        raise not_found("release", ref)
    return found[0]


async def release_views(context: Context, numbers: Sequence[int]) -> list[ReleaseView]:
    rows = {row["id"]: row for row in await context.fetch("content/view_release", ids=list(numbers))}
    items: dict[int, list[asyncpg.Record]] = {}
    for item in await context.fetch("content/list_items_of", ids=list(numbers)):
        items.setdefault(item["release_id"], []).append(item)
    return [_show(rows[number], items.get(number, [])) for number in numbers if number in rows]


@query
async def list_releases(
    context: Context,
    *,
    created_by: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    search: str | None = None,
    sort: ReleaseSort = "scheduled_at",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[ReleaseView]:
    """Releases in the order of their time, or the reverse; `search` is a part of their notes. A page with
    very many items ends early."""
    rising = sort == "scheduled_at"
    end_of_time = FIRST if rising else LAST
    place_at, place_id = (
        (end_of_time, 0) if cursor is None else decode_cursor(cursor, tuple[datetime, Number])
    )
    rows = await context.fetch(
        "content/list_releases" if rising else "content/list_releases_last",
        created_by=created_by,
        start=start,
        end=end,
        pattern=f"%{pattern_of(search)}" if search else None,
        place_at=place_at,
        place_id=place_id,
        limit=limit + 1,
    )
    sizes = accumulate(row["items"] for row in rows)
    limit = min(limit, max(1, sum(size <= MOST_LISTED_ITEMS for size in sizes)))
    numbers = [row["id"] for row in rows[: limit + 1]]
    shown = {each.release_id: each for each in await release_views(context, numbers[:limit])}
    page = [shown[encode_id(RELEASE, number)] for number in numbers[:limit]]
    last = rows[limit - 1] if len(numbers) > limit else None
    return Page(page, None if last is None else encode_cursor(last["scheduled_at"], last["id"]))


@query
async def count_releases(
    context: Context,
    *,
    created_by: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    search: str | None = None,
) -> Total:
    """How many there are of those that a list with these filters shows."""
    return await total(
        context,
        "content/list_releases",
        bound="limit",
        namespace=context.namespace,
        created_by=created_by,
        start=start,
        end=end,
        pattern=f"%{pattern_of(search)}" if search else None,
        place_at=FIRST,
        place_id=0,
    )


def _show(row: asyncpg.Record, items: Sequence[asyncpg.Record]) -> ReleaseView:
    status, error = _status(row)
    at = row["scheduled_at"]
    return from_row(
        ReleaseView,
        row,
        release_id=encode_id(RELEASE, row["id"]),
        status=status,
        scheduled_at_utc=at,
        local_time_display=display(at, row["timezone"]),
        items=[_show_item(item, status) for item in items],
        on_failure=OnFailure(row["on_failure"]),
        findings=[]
        if row["findings"] is None
        else msgspec.json.decode(row["findings"], type=list[ReleaseFinding]),
        retry_count=max(0, (row["live_attempt"] or 1) - 1),
        last_error=error,
        executed_at=row["done_at"],
        job_id=encode_id("j", row["job_id"]),
    )


def _show_item(item: asyncpg.Record, status: str) -> ReleaseItem:
    result = item["result"]
    if item["cancelled_at"] is not None:
        status = "cancelled"
    elif result is not None:
        status = STATUS_OF_ITEM[result]
    return from_row(
        ReleaseItem,
        item,
        schedule_id=encode_id("c", item["id"]),
        content_id=str(Entity.of(item)),
        title=item["entity_title"],
        action=Action(item["action"]),
        status=status,
        result=result,
    )


def _status(row: asyncpg.Record) -> tuple[str, str | None]:
    if row["cancelled_at"] is not None:
        return "cancelled", row["error"]
    if row["done_at"] is not None:
        return "done", None
    if row["live_state"] is not None:
        return "processing", row["error"] or row["live_error"]
    if row["failed_at"] is not None:
        return "failed", row["error"]
    if row["timer_at"] is not None:
        return "pending", None
    if row["latest_status"] is None:
        return "pending", None
    return STATUS_OF_RUN[row["latest_status"]], row["latest_error"] or row["latest_reason"]
