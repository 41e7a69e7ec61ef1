"""Explains when and why a message was sent, or was not: one line for each event.

The usual steps come from its row: scheduled, submitted, sent. Unusual ones have events.
"""

from __future__ import annotations

from datetime import datetime
from itertools import accumulate
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.jobs.moment import display
from sexton.notifications.campaigns.hold import CampaignHold
from sexton.notifications.model import MessageStatus
from sexton.notifications.read import NotificationView, message_number, message_row, view_of
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

MOST_EVENTS = 1000


class WhyLine(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a message."""

    at: Annotated[datetime, about("When.")]
    local: Annotated[str, about("When, on the recipient's wall clock.")]
    kind: Annotated[str, about("What: scheduled, held, retry, fell_back, sent, delivered, ….")]
    text: Annotated[str, about("In words, with the reason.")]
    detail: Annotated[dict[str, Any], about("The same for programs.")] = {}


class NotificationWhy(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message, and why."""

    notification_id: Annotated[str, about("Its id, `n_…`.")]
    status: Annotated[str, about("Where it stands.")]
    summary: Annotated[str, about("All lines in one.")]
    lines: Annotated[list[WhyLine], about("What happened, in order.")]
    notification: Annotated[NotificationView, about("The message.")]


@query
async def why(context: Context, ref: str) -> NotificationWhy:
    number = message_number(ref)
    row = await message_row(context, number)
    events = await context.fetch("messages/list_events", message_id=number, limit=MOST_EVENTS)
    zone = row["timezone"] or "UTC"
    campaign = await CampaignHold.read(context, row)
    held = [] if campaign is None else campaign.lines()
    told = _in_order(held, [_event(row, each) for each in events], _ordinary(row))
    lines = [
        WhyLine(at=at, local=display(at, zone), kind=kind, text=text, detail=detail)
        for at, kind, text, detail in (_scheduled(row), *told)
    ]
    shown = view_of(row)
    return NotificationWhy(
        notification_id=shown.notification_id,
        status=shown.status,
        summary=" → ".join(line.text for line in lines),
        lines=lines,
        notification=shown,
    )


Told = tuple[datetime, str, str, dict[str, Any]]


def _in_order(before: list[Told], events: list[Told], after: list[Told]) -> list[Told]:
    """By time; events keep the order in which they were written, also where the clock was set back."""
    latest = accumulate((at for at, *_ in events), max)
    times = [*(at for at, *_ in before), *latest, *(at for at, *_ in after)]
    placed = zip(times, [*before, *events, *after], strict=True)
    return [each for _, each in sorted(placed, key=lambda place: place[0])]


def _scheduled(row: asyncpg.Record) -> Told:
    timing = msgspec.json.decode(row["timing"]) if row["timing"] else {}
    text = f"scheduled by {row['created_by']} for {_shown(row['scheduled_at'], row)}"
    if source := timing.get("zone_from"):
        text += {
            "recipient": ", the recipient's zone",
            "namespace": ", the zone of the namespace, as the recipient has none",
            "default": ", as neither the recipient nor the namespace has a zone",
        }.get(source, "")
    if timing.get("fold"):
        text += f"; the {timing['fold']} of two such times, as the clock goes back"
    if timing.get("gap"):
        text += f"; the local time does not exist, so {timing['gap']} counts"
    if note := timing.get("note"):
        text += f"; {note}"
    return row["created_at"], "scheduled", text, timing


def _ordinary(row: asyncpg.Record) -> list[Told]:
    """The usual steps, from the row."""
    if row["submitted_at"] is None:
        return []
    channel = row["channels"][min(row["channel_index"], len(row["channels"]) - 1)]
    via = f" to {row['provider']}" if row["provider"] else ""
    status = row["status"]
    if status == MessageStatus.PROCESSING:
        return [(row["submitted_at"], "processing", f"{channel} is being submitted", {"channel": channel})]
    if row["sent_at"] is None:
        return []
    detail = {"channel": channel, "provider": row["provider"], "provider_id": row["provider_id"]}
    return [(row["sent_at"], "sent", f"{channel} submitted {_time(row['sent_at'], row)}{via}", detail)]


def _event(row: asyncpg.Record, event: asyncpg.Record) -> Told:
    detail: dict[str, Any] = msgspec.json.decode(event["detail"]) if event["detail"] else {}
    kind = event["kind"]
    reason = detail.get("reason")
    because = f": {reason}" if reason else ""
    until = _shown(datetime.fromisoformat(detail["until"]), row) if "until" in detail else ""
    at = _time(event["at"], row)
    match kind:
        case "held":
            text = f"held by {reason} until {until}"
        case "deferred":
            text = f"waits until {until}{because}"
        case "retry":
            text = (
                f"try {detail.get('try', '?')} by {detail.get('channel')} failed {at}{because}; next {until}"
            )
        case "fell_back":
            text = f"{detail.get('from')} left for {detail.get('to')} {at}{because}"
        case "expired":
            text = f"expired {at}, {_duration(detail.get('late_seconds', 0))} late"
        case "failed" | "suppressed" | "unconfirmed" | "bounced" | "complained":
            text = f"{kind} {at}{because}"
        case "cancelled" | "restored" | "resent":
            text = f"{kind} {at}" + (f" by {detail['by']}" if detail.get("by") else "") + because
        case "confirmed":
            text = f"counts as sent since {at}, by {detail.get('by')}{because}"
        case "rescheduled":
            to = datetime.fromisoformat(detail["to"])
            text = f"rescheduled by {detail.get('by')} to {_shown(to, row)}"
        case "noted":
            text = str(detail.get("note"))
        case _:
            text = f"{kind} {at}{because}"
    return event["at"], kind, text, detail


def _shown(at: datetime, row: asyncpg.Record) -> str:
    return display(at, row["timezone"] or "UTC")


def _time(at: datetime, row: asyncpg.Record) -> str:
    """The time of day in the zone of the message; the line has the date."""
    return display(at, row["timezone"] or "UTC").split(" ", 1)[1].rsplit(" (", 1)[0]


def _duration(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (second, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"
