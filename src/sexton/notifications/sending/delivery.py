"""Records the reports of providers about accepted messages: delivered, bounced, complained, opened.

A report becomes a line of `why`, once even if it is repeated, and changes the status from sent to delivered
or bounced. A hard bounce and a complaint suppress the address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import asyncpg
import msgspec

from sexton import clock
from sexton.model import decode_id
from sexton.notifications.channels.bounce import BounceClass, bounce_class
from sexton.notifications.channels.report import DeliveryEvent
from sexton.notifications.model import MESSAGE, EventKind, MessageStatus
from sexton.notifications.recipients.suppression import normal_address
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context, command
from sexton.refusal import about

STATUSES = {
    "delivered": MessageStatus.DELIVERED,
    "bounced": MessageStatus.BOUNCED,
    "failed": MessageStatus.FAILED,
}
# A report may arrive before the sender has recorded that the message was accepted.
WAITS, WAIT_SECONDS = 15, 0.2


class ReportTaken(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a report."""

    events: Annotated[int, about("How many events were in it.")]
    matched: Annotated[int, about("How many of them are about a message that is known here.")]
    noted: Annotated[int, about("How many were new.")]


async def take_report(context: Context, provider: str, events: Sequence[DeliveryEvent]) -> ReportTaken:
    """Record the report of a provider."""
    for _ in range(WAITS):
        rows = await _find(context, provider, events)
        if len(rows) == len(events) and not any(row["status"] == MessageStatus.PROCESSING for row in rows):
            break
        await clock.sleep(WAIT_SECONDS)
    return await _record(context, provider, events)


@command
async def _record(context: Context, provider: str, events: Sequence[DeliveryEvent]) -> ReportTaken:
    rows = await _find(context, provider, events)
    about_ = [(row, events[row["place"]]) for row in rows]
    if not about_:
        return ReportTaken(events=len(events), matched=0, noted=0)
    [row] = await context.fetch(
        "delivery/record",
        message_ids=[row["id"] for row, _ in about_],
        kinds=[EventKind(event.event).value for _, event in about_],
        at=[event.at for _, event in about_],
        details=[_detail(provider, event) for _, event in about_],
        statuses=[STATUSES.get(event.event) for _, event in about_],
        reasons=[event.reason or event.code for _, event in about_],
    )
    await _suppress(context, about_)
    return ReportTaken(events=len(events), matched=len(about_), noted=row["noted"])


async def _find(context: Context, provider: str, events: Sequence[DeliveryEvent]) -> list[asyncpg.Record]:
    return await context.fetch(
        "delivery/find",
        provider=provider,
        places=list(range(len(events))),
        message_ids=[_number(event.key) for event in events],
        provider_ids=[event.provider_id for event in events],
    )


def _number(key: str | None) -> int | None:
    """The message of a key, which is its id, with a device after a dot."""
    return None if key is None else decode_id(MESSAGE, key.partition(".")[0])


def _detail(provider: str, event: DeliveryEvent) -> str:
    detail = {"provider": provider, "code": event.code, "reason": event.reason}
    if event.event == "bounced" and event.code is not None:
        detail["class"] = bounce_class(event.code).value
    return json_text({name: value for name, value in detail.items() if value})


async def _suppress(context: Context, about_: Sequence[tuple[asyncpg.Record, DeliveryEvent]]) -> None:
    found = [
        (row["channel"], normal_address(row["channel"], row["address"]), _why(event))
        for row, event in about_
        if row["address"] is not None and _is_final(event)
    ]
    for channel in dict.fromkeys(channel for channel, _, _ in found):
        mine = [(address, why) for each, address, why in found if each == channel]
        await context.execute(
            "providers/suppress",
            channel=channel,
            addresses=[address for address, _ in mine],
            reasons=[why for _, why in mine],
        )


def _is_final(event: DeliveryEvent) -> bool:
    """Whether the address is suppressed from now on."""
    if event.event in ("complained", "unsubscribed"):
        return True
    return event.event == "bounced" and bounce_class(event.code or "") == BounceClass.HARD


def _why(event: DeliveryEvent) -> str:
    said = event.reason or event.code
    return f"{event.event}: {said}"[:500] if said else event.event
