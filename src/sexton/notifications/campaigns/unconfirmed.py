"""Decisions of a person about messages that may have been sent: send them again, or count them as sent.

They apply to one message or to all of a campaign. A campaign that has ended sends again if messages are
resent.
"""

from __future__ import annotations

from typing import Any

import asyncpg

from sexton.errors import Conflict
from sexton.model import encode_id
from sexton.notifications.campaigns import campaign
from sexton.notifications.campaigns.spec import CampaignStatus
from sexton.notifications.campaigns.view import CampaignView
from sexton.notifications.campaigns.view import view as view_campaign
from sexton.notifications.model import CAMPAIGN, EventKind, MessageStatus
from sexton.notifications.read import NotificationView, message_number, view
from sexton.notifications.sending import wave
from sexton.notifications.sending.settlement import Settlement
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context, command
from sexton.refusal import not_found

#: The statuses of a single message that can be sent again.
AGAIN = (MessageStatus.UNCONFIRMED, MessageStatus.FAILED)


@command
async def resend_message(context: Context, ref: str) -> NotificationView:
    """Send a message again that may have been sent, or that has failed."""
    number = message_number(ref)
    row = await _find(
        context, ref, number, AGAIN, "only messages that are unconfirmed or failed are sent again"
    )
    if row["campaign_id"] is not None:
        locked = await _lock_campaign(context, row)
        await _resend(context, locked, number, [status.value for status in AGAIN])
    else:
        now = await context.time()
        await context.execute("messages/resend", message_id=number, now=now)
        settlement = Settlement(now)
        settlement.event(number, EventKind.RESENT, _detail(context))
        await settlement.write(context, run_id=None, submitted_at=None)
        await wave.call(context, [now], now)
    context.changed("notification.resent", ref, before={"status": row["status"]}, after={"status": "pending"})
    return await view(context, number)


@command
async def confirm_message(context: Context, ref: str) -> NotificationView:
    """Count a message that may have been sent as sent."""
    number = message_number(ref)
    doubtful = (MessageStatus.UNCONFIRMED,)
    row = await _find(context, ref, number, doubtful, "only messages that are unconfirmed are confirmed")
    if row["campaign_id"] is not None:
        await _confirm(context, await campaign.lock(context, encode_id(CAMPAIGN, row["campaign_id"])), number)
    else:
        await context.execute(
            "messages/confirm", message_id=number, detail=_text(context), now=await context.time()
        )
    context.changed("notification.confirmed", ref, before={"status": row["status"]}, after={"status": "sent"})
    return await view(context, number)


@command
async def resend_campaign(context: Context, ref: str) -> CampaignView:
    """Send all messages of a campaign again that may have been sent."""
    row = await campaign.lock(context, ref)
    _refuse_over(row, ref)
    count = await _resend(context, row, None, [MessageStatus.UNCONFIRMED.value])
    if count:
        context.changed(
            "campaign.resent", ref, row["name"], job_id=row["job_id"], detail={"messages": count}
        )  # fmt: skip
    return await view_campaign(context, row["id"])


@command
async def confirm_campaign(context: Context, ref: str) -> CampaignView:
    """Count all messages of a campaign that may have been sent as sent."""
    row = await campaign.lock(context, ref)
    count = await _confirm(context, row, None)
    if count:
        context.changed(
            "campaign.confirmed", ref, row["name"], job_id=row["job_id"], detail={"messages": count}
        )  # fmt: skip
    return await view_campaign(context, row["id"])


async def _find(
    context: Context, ref: str, number: int, wanted: tuple[MessageStatus, ...], hint: str
) -> asyncpg.Record:
    """Find a message in one of the wanted statuses. It is locked, unless it belongs to a campaign, whose row
    is locked first."""
    row = await context.fetchrow("messages/get", message_id=number)
    if row is not None and row["campaign_id"] is None:
        row = await context.fetchrow("messages/lock", message_id=number)
    if row is None:
        raise not_found("notification", ref)
    if row["status"] not in wanted:
        raise Conflict("not_in_doubt", f"{ref} is {row['status']}", hint=hint)
    return row


async def _lock_campaign(context: Context, row: asyncpg.Record) -> asyncpg.Record:
    name = encode_id(CAMPAIGN, row["campaign_id"])
    locked = await campaign.lock(context, name)
    _refuse_over(locked, name)
    return locked


def _refuse_over(row: asyncpg.Record, ref: str) -> None:
    if row["status"] in (CampaignStatus.CANCELLED, CampaignStatus.FAILED):
        raise Conflict(
            f"campaign_{row['status']}",
            f"the campaign {ref} is {row['status']}: it sends no more messages",
            hint="create another campaign, or confirm the messages that may have been sent",
        )


async def _resend(context: Context, row: asyncpg.Record, number: int | None, statuses: list[str]) -> int:
    rows = await context.fetch(
        "campaigns/resend",
        campaign_id=row["id"],
        message_id=number,
        statuses=statuses,
        detail=_text(context),
        now=row["now"],
    )
    count = sum(int(each["n"]) for each in rows)
    if count and row["status"] == CampaignStatus.DONE:
        await campaign.move(context, row, CampaignStatus.SENDING, looked_at=row["now"])
    if count and row["status"] in (CampaignStatus.DONE, CampaignStatus.SENDING):
        await campaign.conduct_now(context, row)
    return count


async def _confirm(context: Context, row: asyncpg.Record, number: int | None) -> int:
    rows = await context.fetch(
        "campaigns/confirm", campaign_id=row["id"], message_id=number, detail=_text(context), now=row["now"]
    )
    return sum(int(each["n"]) for each in rows)


def _detail(context: Context) -> dict[str, Any]:
    return {"by": context.actor, "reason": context.reason}


def _text(context: Context) -> str:
    return json_text(_detail(context))
