"""Reads the data of due messages, a batch at a time: addresses, suppressions, counts of caps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.notifications.model import MessageStatus
from sexton.notifications.recipients.suppression import normal_address
from sexton.notifications.sending.hold import CapKey, Circumstances, DueMessage, cap_keys
from sexton.postgres.jsonb import json_value
from sexton.postgres.transaction import Context


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of the namespace for all messages."""

    timezone: str = "UTC"
    locale: str | None = None
    quiet_hours: str | None = None
    quiet_passes: frozenset[str] = frozenset({"asap"})
    caps: str | None = None


def due_message(row: asyncpg.Record) -> DueMessage:
    channels = row["channels"]
    # A message that was sent but not delivered or read in time: use the next channel.
    follows = row["status"] in (MessageStatus.SENT, MessageStatus.DELIVERED)
    return DueMessage(
        channels,
        row["channel_index"] + 1 if follows else row["channel_index"],
        row["topic"],
        row["urgency"],
        row["scheduled_at"],
        None if follows else row["expires_at"],
        row["user_id"],
        row["timezone"],
        row["quiet_hours"],
        row["opt_outs"],
        row["caps"],
        _addresses(row, channels),
        row["suppressed_reason"],
    )


def _addresses(row: asyncpg.Record, channels: Sequence[str]) -> dict[str, Any]:
    given = json_value(row["address"])
    found: dict[str, Any] = {}
    for channel in channels:
        if given is not None and channel in given:
            found[channel] = given[channel]
        elif channel == "email":
            found[channel] = row["email"]
        elif channel == "sms":
            found[channel] = row["phone"]
        elif channel == "push":
            found[channel] = json_value(row["devices"])
        elif channel == "in_app":
            found[channel] = row["user_id"]
        elif row["addresses"]:
            found[channel] = msgspec.json.decode(row["addresses"]).get(channel)
    return found


async def find_suppressed(context: Context, due: Sequence[DueMessage]) -> dict[tuple[str, str], str]:
    """The suppressed addresses of a batch, with reasons."""
    pairs = {
        (channel, normal_address(channel, address))
        for message in due
        for channel, address in message.addresses.items()
        if isinstance(address, str) and channel != "in_app"
    }
    if not pairs:
        return {}
    channels, addresses = zip(*pairs, strict=True)
    rows = await context.fetch("messages/find_suppressed", channels=list(channels), addresses=list(addresses))
    return {(row["channel"], row["address"]): f"the address is suppressed: {row['reason']}" for row in rows}


async def lock_counts(
    context: Context, due: Sequence[DueMessage], policy: Policy, now: datetime
) -> dict[CapKey, int]:
    """Lock and return the counts of messages of recipients with caps."""
    if policy.caps is None and all(message.caps is None for message in due):
        return {}
    known = Circumstances(now=now, timezone=policy.timezone, caps=policy.caps)
    keys = sorted({key for message in due for key in cap_keys(message, known)})
    if not keys:
        return {}
    rows = await context.fetch(
        "messages/lock_counts",
        users=[user for user, _, _ in keys],
        subjects=[subject for _, subject, _ in keys],
        periods=[period for _, _, period in keys],
    )
    return {(row["user_id"], row["subject"], row["period_start"]): row["n"] for row in rows}


async def add_counts(context: Context, counts: Mapping[CapKey, int]) -> None:
    """Change the counts of caps. The rows are locked, or the change gives messages back."""
    keys = sorted(counts)
    await context.execute(
        "messages/add_counts",
        users=[user for user, _, _ in keys],
        subjects=[subject for _, subject, _ in keys],
        periods=[period for _, _, period in keys],
        counts=[counts[key] for key in keys],
    )


async def done_before_fallback(context: Context, rows: Sequence[asyncpg.Record]) -> set[int]:
    """The sent messages with a further channel that do not need it, because they were delivered or read as
    wanted."""
    waiting = [row for row in rows if row["status"] in (MessageStatus.SENT, MessageStatus.DELIVERED)]
    if not waiting:
        return set()
    found = await context.fetch("messages/find_read", ids=[row["id"] for row in waiting])
    read = {row["message_id"] for row in found}
    return {
        row["id"]
        for row in waiting
        if row["id"] in read
        or (
            row["status"] == MessageStatus.DELIVERED
            and row["channel_unless"][row["channel_index"]] == "delivered"
        )
    }
