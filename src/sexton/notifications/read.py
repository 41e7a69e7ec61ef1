"""Messages as people see them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.jobs.moment import display
from sexton.model import decode_id, encode_id
from sexton.notifications.model import CAMPAIGN, MESSAGE, MessageStatus
from sexton.postgres.page import Page, make_page, number_in_cursor
from sexton.postgres.transaction import Context, query
from sexton.refusal import about, not_found


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
    channel: Annotated[str, about("The channel that it is on.")]
    channels: Annotated[list[str], about("All of them, in fall-back order.")]
    template_id: Annotated[str, about("The template.")]
    template_version: Annotated[int | None, about("Its version; null: the latest when it is sent.")]
    send_at_utc: Annotated[datetime, about("When it is to be sent.")]
    local_time: Annotated[str | None, about("The local time that was asked for.")]
    timezone: Annotated[str | None, about("The zone in which it was read.")]
    local_time_display: Annotated[str, about("When it is to be sent, for people.")]
    next_at: Annotated[datetime | None, about("When it is looked at next; null: nothing is left to do.")]
    expires_at: Annotated[datetime | None, about("After this it is not sent any more.")]
    urgency: Annotated[str | None, about("asap, time_sensitive or digest.")]
    topic: Annotated[str | None, about("What it is about.")]
    hold_reason: Annotated[str | None, about("What holds it.")]
    sent_at: Annotated[datetime | None, about("When a provider accepted it.")]
    failure_reason: Annotated[str | None, about("Why it was not sent, or not yet.")]
    retry_count: Annotated[int, about("How often it was tried again.")]
    max_retries: Annotated[int, about("How often it may be.")]
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
    campaign: int | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[NotificationView]:
    """The latest first."""
    before = 2**63 - 1 if cursor is None else number_in_cursor(cursor, MESSAGE)
    rows = await context.fetch(
        "messages/list_of_recipient" if user_id is not None else "messages/list",
        namespace=context.namespace,
        status=status,
        template_id=template_id,
        campaign_id=campaign,
        before=before,
        limit=limit + 1,
        **({} if user_id is None else {"user_id": user_id}),
    )
    return make_page([(encode_id(MESSAGE, row["id"]), view_of(row)) for row in rows], limit)


async def view(context: Context, number: int) -> NotificationView:
    return view_of(await message_row(context, number))


async def message_row(context: Context, number: int) -> asyncpg.Record:
    row = await context.fetchrow("messages/get", namespace=context.namespace, message_id=number)
    if row is None:
        raise not_found("notification", encode_id(MESSAGE, number))
    return row


def message_number(ref: str) -> int:
    number = decode_id(MESSAGE, ref)
    if number is None:
        raise not_found("notification", ref)
    return number


def view_of(row: asyncpg.Record) -> NotificationView:
    local: datetime | None = row["local_time"]
    shared: dict[str, Any] = {name: row[name] for name in _SAME}
    return NotificationView(
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
        **shared,
    )


_SAME = (
    "user_id", "channels", "template_id", "template_version", "timezone", "expires_at", "urgency", "topic",
    "hold_reason", "sent_at", "failure_reason", "retry_count", "max_retries", "retry_seconds", "provider",
    "created_by", "created_at",
)  # fmt: skip
