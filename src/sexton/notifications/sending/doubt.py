"""Messages that may have been sent: a run began to submit them, and its worker died.

If the provider recognises their keys, they are sent again. Otherwise they become `unconfirmed`, and a person
decides whether to send them again (`campaigns.unconfirmed`).
"""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from sexton.notifications.model import EventKind, MessageStatus
from sexton.notifications.sending.sending import MessageSender
from sexton.notifications.sending.settlement import Settlement
from sexton.postgres.transaction import Context, command

DOUBT = "the worker stopped while it was being submitted"


@command
async def settle_own(context: Context, sender: MessageSender, run_id: int) -> dict[str, int]:
    """Settle single messages that an earlier attempt of this run was submitting."""
    rows = await context.fetch("messages/lock_submitted", run_ids=[run_id])
    return await settle_doubtful(context, sender, rows)


@command
async def settle_abandoned(context: Context, sender: MessageSender, limit: int) -> dict[str, int]:
    """Settle single messages whose run no longer exists: it was cancelled, or is a dead letter."""
    runs = await context.fetch("messages/find_abandoned", limit=limit)
    if not runs:
        return {}
    numbers = [row["run_id"] for row in runs]
    rows = await context.fetch("messages/lock_submitted", run_ids=numbers)
    return await settle_doubtful(context, sender, rows)


async def settle_doubtful(
    context: Context,
    sender: MessageSender,
    rows: Sequence[asyncpg.Record],
    *,
    doubt: str | None = None,
    campaign_id: int | None = None,
) -> dict[str, int]:
    """Settle locked messages whose run has stopped submitting them. For a campaign, their chunk has marked
    them, and `doubt` is the decision of the campaign, which overrides that of the provider."""
    if not rows:
        return {}
    now = await context.time()
    settlement = Settlement(now)
    channels = {row["channels"][row["channel_index"]] for row in rows}
    doubts = {
        channel: doubt or await sender.channels.doubt(context.namespace, channel)
        for channel in sorted(channels)
    }
    for row in rows:
        channel = row["channels"][row["channel_index"]]
        if doubts[channel] == "resend":
            settlement.move(row["id"], MessageStatus.PENDING, now)
            settlement.event(row["id"], EventKind.RESENT, {"reason": DOUBT, "same_key": True})
        else:
            settlement.end(row["id"], MessageStatus.UNCONFIRMED, DOUBT)
            settlement.event(row["id"], EventKind.UNCONFIRMED, {"reason": DOUBT, "channel": channel})
    if campaign_id is None:
        await settlement.write(context)
    else:
        run_id, marked_at = rows[0]["marked_run"], rows[0]["marked_at"]
        await settlement.write(context, run_id=run_id, submitted_at=marked_at, campaign_id=campaign_id)
    resent = len(settlement.not_sent)
    return {"resent": resent, "unconfirmed": len(rows) - resent}
