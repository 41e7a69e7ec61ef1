"""Reading messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.jobs.moment import display
from sexton.model import encode_id
from sexton.notifications.filter import MessageFilter, MessageOrder, MessageSort, campaign_number
from sexton.notifications.model import CAMPAIGN, MESSAGE, MessageStatus
from sexton.postgres.estimate import MOST_EXACT, Total, expected, figures
from sexton.postgres.page import Page, make_page
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

# The most messages that are read for a page, and for a count, with a filter without an index.
MOST_READ, MOST_COUNTED = 12_000, 30_000


class NotificationView(msgspec.Struct, frozen=True, kw_only=True):
    """A message, and where it stands."""

    notification_id: Annotated[str, about("Its id, `n_…`.")]
    status: Annotated[
        MessageStatus,
        about(
            "pending, held, processing, sent, delivered, failed, bounced, cancelled, expired, suppressed or "
            "unconfirmed."
        ),
    ]
    user_id: Annotated[str | None, about("The recipient; null: an address was given.")]
    channel: Annotated[str, about("The current channel.")]
    channels: Annotated[list[str], about("All channels, in fall-back order.")]
    template_id: Annotated[str, about("The template.")]
    template_version: Annotated[int | None, about("Its version; null: the latest when it is sent.")]
    send_at_utc: Annotated[datetime, about("When it is to be sent.")]
    local_time: Annotated[str | None, about("The local time that was asked for.")]
    timezone: Annotated[str | None, about("The zone of that local time.")]
    local_time_display: Annotated[str, about("The time of sending on the wall clock, with the zone.")]
    next_at: Annotated[datetime | None, about("When Sexton checks it next; null: nothing is left to do.")]
    expires_at: Annotated[datetime | None, about("It is not sent after this time.")]
    urgency: Annotated[str | None, about("asap, time_sensitive or digest.")]
    topic: Annotated[str | None, about("What it is about.")]
    hold_reason: Annotated[str | None, about("What holds it.")]
    sent_at: Annotated[datetime | None, about("When a provider accepted it.")]
    failure_reason: Annotated[str | None, about("Why it was not sent, or not yet.")]
    retry_count: Annotated[int, about("How often it was tried again.")]
    max_retries: Annotated[int, about("How often it may be tried again.")]
    retry_seconds: Annotated[int, about("The time between two tries.")]
    provider: Annotated[str | None, about("The provider that had it.")]
    campaign_id: Annotated[str | None, about("The campaign that it belongs to.")]
    created_by: Annotated[str, about("Who scheduled it.")]
    created_at: Annotated[datetime, about("When it was scheduled.")]


@query
async def get_message(context: Context, ref: str) -> NotificationView:
    return await view(context, message_number(ref))


@query
async def list_messages(
    context: Context,
    *,
    user_id: str | None = None,
    status: str | None = None,
    template_id: str | None = None,
    campaign_id: str | None = None,
    sort: MessageSort | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[NotificationView]:
    """Messages, the latest first (-created_at) or the oldest first (created_at); those of a campaign by the
    ids of their recipients (user_id, -user_id)."""
    chosen = chosen_by(user_id, status, template_id, campaign_id)
    return await list_chosen(context, chosen, sort=sort, cursor=cursor, limit=limit)


def chosen_by(
    user_id: str | None = None,
    status: str | None = None,
    template_id: str | None = None,
    campaign_id: str | None = None,
) -> MessageFilter:
    return MessageFilter(
        user_id=user_id,
        statuses=None if status is None else (status,),
        template_id=template_id,
        campaign=None if campaign_id is None else campaign_number(campaign_id),
    )


async def list_chosen(
    context: Context,
    chosen: MessageFilter,
    *,
    sort: MessageSort | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[NotificationView]:
    """A page that has read enough may not be full, or empty, and yet have a cursor. Inside a query."""
    order = MessageOrder.of(chosen, sort)
    most = MOST_READ if chosen.searching else limit + 1
    async with context.planned_anew():
        rows = await context.fetch(
            order.statement,
            place=order.place(cursor),
            most=most,
            limit=limit + 1,
            **chosen.parameters(),
        )
    places = {row["id"]: order.cursor(row) for row in rows if row["meant"]}
    shown = {row["id"]: view_of(row) for row in await rows_of(context, [*places])}
    page = make_page([(place, shown[each]) for each, place in places.items() if each in shown], limit)
    if page.cursor is None and rows and rows[-1]["place"] == most:
        return Page(page.items, order.cursor(rows[-1]))
    return page


@query
async def count_messages(context: Context, chosen: MessageFilter) -> Total:
    """The number of messages that match, up to a bound. Beyond it, a filter with an index gets the estimate
    of PostgreSQL's planner."""
    order = MessageOrder.of(chosen, None)
    asked: dict[str, Any] = {"place": order.start, **chosen.parameters()}
    most = MOST_COUNTED if chosen.searching else MOST_EXACT + 1
    async with context.planned_anew():
        columns = "count(*) filter (where meant) as found, coalesce(max(place), 0) as looked"
        row = await figures(context, columns, order.statement, most=most, limit=None, **asked)
        found, cut = row["found"], row["looked"] == most
        if not cut or chosen.searching:
            return Total(found, estimated=cut)
        rows = await expected(context, order.statement, most=None, limit=None, **asked)
    return Total(max(found, rows), estimated=True)


async def rows_of(context: Context, numbers: Sequence[int]) -> list[asyncpg.Record]:
    """The messages with these numbers that the namespace has."""
    return await context.fetch("messages/view", message_ids=numbers)


async def view(context: Context, number: int) -> NotificationView:
    return view_of(await message_row(context, number))


async def message_row(context: Context, number: int) -> asyncpg.Record:
    return await context.require(
        "notification", encode_id(MESSAGE, number), "messages/get", message_id=number
    )


def message_number(ref: str) -> int:
    return number_of(MESSAGE, ref, "notification")


def view_of(row: asyncpg.Record) -> NotificationView:
    local: datetime | None = row["local_time"]
    return from_row(
        NotificationView,
        row,
        notification_id=encode_id(MESSAGE, row["id"]),
        status=MessageStatus(row["status"]),
        channel=row["channels"][min(row["channel_index"], len(row["channels"]) - 1)],
        send_at_utc=row["scheduled_at"],
        local_time=None
        if local is None
        else local.isoformat(" ", "minutes" if not local.second else "seconds"),
        local_time_display=display(row["scheduled_at"], row["timezone"] or "UTC"),
        next_at=row["due_at"],
        campaign_id=None if row["campaign_id"] is None else encode_id(CAMPAIGN, row["campaign_id"]),
    )
