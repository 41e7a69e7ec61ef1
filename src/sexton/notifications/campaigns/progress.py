"""The progress of a campaign: messages sent per minute, waves, held messages with reasons, and events.

The waves come from its chunks, which are few. Messages by minute and channel are counted from the messages;
for a large campaign only those of the chunks that changed last, which is everything since some instant.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated

import msgspec
from asyncpg import Record

from sexton.notifications.campaigns.spec import CampaignStatus
from sexton.notifications.campaigns.view import view
from sexton.notifications.filter import campaign_number
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

MOST_WAVES, MOST_EVENTS, MOST_MINUTES = 200, 200, 180
# Messages that are counted; a chunk has at most 5,000.
MOST_MESSAGES = 20_000
SENT = frozenset({"sent", "delivered", "bounced"})
FAILED = frozenset({"failed", "bounced"})
LEFT = frozenset({"pending", "held", "processing"})


class CampaignMinute(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent in a minute."""

    at: Annotated[datetime, about("The beginning of the minute.")]
    sent: Annotated[int, about("Messages that a provider has accepted.")]


class CampaignChannel(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of a channel, among those that were counted."""

    channel: Annotated[str, about("The channel on which messages were sent, or will be sent.")]
    sent: Annotated[int, about("A provider has accepted them.")] = 0
    failed: Annotated[int, about("Given up, or bounced.")] = 0
    left: Annotated[int, about("Still to be sent.")] = 0
    others: Annotated[int, about("Suppressed, expired, cancelled, or not confirmed.")] = 0


class HeldMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that wait for something, among those that were counted."""

    reason: Annotated[str, about("What holds them: quiet hours, a cap, …")]
    messages: Annotated[int, about("How many messages are held.")]


class CampaignWave(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that are due at one instant."""

    at: Annotated[datetime, about("When its messages are due.")]
    canary: Annotated[
        bool, about("Whether it is the canary, which is sent before an operator lets the others go.")
    ]
    messages: Annotated[int, about("How many messages it has.")]
    sent: Annotated[int, about("A provider has accepted them.")]
    failed: Annotated[int, about("Given up.")]
    left: Annotated[int, about("Still to be sent.")]
    cancelled: Annotated[int, about("Cancelled.")]
    state: Annotated[str, about("done, cancelled with its campaign, sending, held or waiting.")]
    next_at: Annotated[datetime | None, about("When Sexton checks its next messages.")] = None
    waits_for: Annotated[str | None, about("What they wait for.")] = None


class CampaignEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What held the whole campaign, or let it go on."""

    at: Annotated[datetime, about("When it happened.")]
    kind: Annotated[str, about("paused, waiting, resumed, cancelled or quota.")]
    reason: Annotated[str | None, about("The reason.")] = None
    by: Annotated[str, about("Who did it.")]
    until: Annotated[datetime | None, about("For a quota: when the next day begins.")] = None


class CampaignProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How a campaign goes on."""

    minutes: Annotated[list[CampaignMinute], about(f"The latest {MOST_MINUTES} in which something was sent.")]
    since: Annotated[
        datetime | None, about("For a large campaign: the minutes are complete from here on; null: all are.")
    ] = None
    counted: Annotated[int, about("How many messages `channels` and `holds` count.")]
    channels: Annotated[list[CampaignChannel], about("The messages by channel.")]
    holds: Annotated[list[HeldMessages], about("What single messages wait for, the most first.")]
    waves: Annotated[list[CampaignWave], about(f"By their instant, at most {MOST_WAVES}.")]
    events: Annotated[list[CampaignEvent], about("What stopped or resumed the campaign, in order.")]


@query
async def read_progress(context: Context, ref: str) -> CampaignProgress:
    number = campaign_number(ref)
    campaign = await view(context, number)
    waves = await context.fetch("campaigns/list_waves", limit=MOST_WAVES, campaign_id=number)
    counts = await context.fetch("campaigns/list_pace", most=MOST_MESSAGES, campaign_id=number)
    events = await context.fetch("campaigns/list_events", limit=MOST_EVENTS, campaign_id=number)
    since = counts[0]["left_out_at"] if counts else None
    minutes: Counter[datetime] = Counter()
    channels: dict[str, Counter[str]] = {}
    holds: Counter[str] = Counter()
    for row in counts:
        status, many = row["status"], row["messages"]
        if row["minute"] is not None and (since is None or row["minute"] > since):
            minutes[row["minute"]] += many
        channels.setdefault(row["channel"] or "", Counter())[_kind(status)] += many
        if status in LEFT and row["hold_reason"] is not None:
            holds[row["hold_reason"]] += many
    return CampaignProgress(
        minutes=[CampaignMinute(at=at, sent=sent) for at, sent in sorted(minutes.items())[-MOST_MINUTES:]],
        since=since,
        counted=sum(row["messages"] for row in counts),
        channels=[CampaignChannel(channel=name, **kinds) for name, kinds in sorted(channels.items())],
        holds=[HeldMessages(reason=reason, messages=many) for reason, many in holds.most_common()],
        waves=[
            CampaignWave(
                at=row["due_at"],
                canary=row["canary"],
                messages=row["messages"],
                sent=row["sent"],
                failed=row["failed"],
                left=max(0, row["messages"] - row["sent"] - row["failed"] - row["others"] - row["cancelled"]),
                cancelled=row["cancelled"],
                state=_state(row, campaign.status),
                next_at=row["next_at"],
                waits_for=row["wait_reason"],
            )
            for row in waves
        ],
        events=[
            CampaignEvent(
                at=row["at"], kind=row["kind"], reason=row["reason"], by=row["actor"], until=row["until"]
            )
            for row in events
        ],
    )


def _state(wave: Record, campaign: str) -> str:
    if wave["done"]:
        return "cancelled" if wave["cancelled"] and campaign == CampaignStatus.CANCELLED else "done"
    if wave["open"]:
        return "sending"
    return "held" if wave["wait_reason"] else "waiting"


def _kind(status: str) -> str:
    if status in FAILED:
        return "failed"
    if status in SENT:
        return "sent"
    return "left" if status in LEFT else "others"
