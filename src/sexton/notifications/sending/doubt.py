"""Messages that may have gone out: a run has begun to submit them, and its worker died.

Where the provider knows what it has had by the key, they are sent again; elsewhere they are `unconfirmed`,
and sent again only on a person's word (`unconfirmed`).
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
    """Of single messages that this run has submitted in an attempt before."""
    rows = await context.fetch("messages/lock_submitted", run_ids=[run_id])
    return await settle_doubtful(context, sender, rows)


@command
async def settle_abandoned(context: Context, sender: MessageSender, limit: int) -> dict[str, int]:
    """Of single messages whose run is gone: it was cancelled, or is a dead letter."""
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
    """Decide about locked messages that are being submitted by a run which does not do so any more. Of a
    campaign, a chunk has marked them, and `doubt` is what it has decided, whatever the provider."""
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
