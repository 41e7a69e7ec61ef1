"""All stored data about a recipient, for that person."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sexton.notifications.read import NotificationView, list_messages
from sexton.notifications.recipients.recipient import RecipientView, get_recipient
from sexton.notifications.recipients.suppression import normal_address
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

MOST_MESSAGES = 1000


class RecipientExport(msgspec.Struct, frozen=True, kw_only=True):
    """All stored data about a recipient."""

    recipient: Annotated[RecipientView, about("The recipient.")]
    notifications: Annotated[list[NotificationView], about("The latest messages.")]
    more: Annotated[bool, about("Whether there are older ones: GET /notifications?user_id=… lists them.")]
    suppressions: Annotated[
        list[dict[str, Any]], about("The recipient's addresses that get nothing, and why.")
    ]


@query
async def export_recipient(context: Context, user_id: str) -> RecipientExport:
    recipient = await get_recipient(context, user_id)
    page = await list_messages(context, user_id=user_id, limit=MOST_MESSAGES)
    pairs = [
        (channel, normal_address(channel, address))
        for channel, address in {
            "email": recipient.email,
            "sms": recipient.phone,
            **recipient.addresses,
        }.items()
        if isinstance(address, str)
    ]
    rows = await context.fetch(
        "messages/find_suppressed",
        channels=[channel for channel, _ in pairs],
        addresses=[address for _, address in pairs],
    )
    return RecipientExport(
        recipient=recipient,
        notifications=page.items,
        more=page.cursor is not None,
        suppressions=[dict(row) for row in rows],
    )
