"""Digests collect events of a recipient, and send them as one message at the time of the digest, or when
there are enough events.

The first event creates the message, for the next time of the digest in the recipient's zone. Further events
are written into it while it is pending. Both happen with the row of the gathering and the message locked, and
each event names its message. After the message is submitted, the next event creates another message. So an
event is in exactly one digest, also with concurrent calls.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import uuid4

import asyncpg
import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.jobs.moment import find_zone, local_text
from sexton.model import encode_id
from sexton.notifications.campaigns.campaign import read_channels
from sexton.notifications.message import MessageOrigin, make_message, move_message
from sexton.notifications.model import MESSAGE, OPEN
from sexton.notifications.recurring.following import zone_of
from sexton.notifications.recurring.named import NamedTable
from sexton.notifications.recurring.recurring import schedule_of
from sexton.notifications.recurring.spec import DigestEventSpec, DigestSpec
from sexton.notifications.spec import NotificationMove
from sexton.notifications.templates.template import LARGEST_VARS
from sexton.postgres.jsonb import json_text
from sexton.postgres.page import Page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, refuse_nul

# The largest event. A message with its events must not become larger than variables may be.
LARGEST_EVENT = 16 * 1024


class DigestView(msgspec.Struct, frozen=True, kw_only=True):
    """A digest."""

    name: Annotated[str, about("Its name.")]
    template_id: Annotated[str, about("The template that is sent.")]
    channels: Annotated[list[str], about("The channels, in fall-back order.")]
    schedule: Annotated[str, about("The schedule, on each recipient's wall clock.")]
    max_events: Annotated[int, about("With so many events it is sent at once.")]
    topic: Annotated[str | None, about("What it is about.")]
    urgency: Annotated[str | None, about("How a late one is treated.")]
    expires_seconds: Annotated[int | None, about("How late it may be.")]
    is_active: Annotated[bool, about("Whether it takes events.")]
    changed_by: Annotated[str, about("Who wrote it.")]
    changed_at: Annotated[datetime, about("When it was changed last.")]


class DigestEventView(msgspec.Struct, frozen=True, kw_only=True):
    """An event, and the digest that it is in."""

    event_id: Annotated[str, about("Its id.")]
    user_id: Annotated[str, about("The recipient.")]
    key: Annotated[str, about("The key of the digest.")]
    notification_id: Annotated[str, about("The message that it is in, `n_…`.")]
    send_at_utc: Annotated[
        datetime | None, about("When that message is due; null: it is being sent, or it has ended.")
    ]
    at: Annotated[datetime, about("When the event came.")]


def _show(row: asyncpg.Record) -> DigestView:
    return from_row(DigestView, row, max_events=row["most_events"])


DIGESTS = NamedTable("digest", _show, "digests/get", "digests/put", "digests/list", "digests/delete")


@command
async def put_digest(context: Context, name: str, spec: DigestSpec) -> DigestView:
    """Create or change a digest. Messages that already collect events keep their time."""
    now = await context.time()
    schedule_of(spec.schedule, "UTC", now.replace(tzinfo=None, second=0, microsecond=0))
    return await DIGESTS.put(
        context,
        name,
        template_id=spec.template_id,
        channels=read_channels(spec.channel),
        schedule=spec.schedule,
        most_events=spec.max_events,
        topic=spec.topic,
        urgency=spec.urgency,
        expires_seconds=spec.expires_seconds,
        is_active=spec.is_active,
    )


@query
async def get_digest(context: Context, name: str) -> DigestView:
    return _show(await DIGESTS.find(context, name))


@query
async def list_digests(context: Context, *, cursor: str | None, limit: int) -> Page[DigestView]:
    return await DIGESTS.page(context, cursor, limit)


@command
async def delete_digest(context: Context, name: str) -> None:
    """Delete a digest: it takes no more events. Collected events are sent at their time."""
    await DIGESTS.delete(context, name)


@command
async def add_event(context: Context, name: str, spec: DigestEventSpec) -> DigestEventView:
    """Add an event to the next digest of its recipient. A repeated `event_id` is ignored."""
    digest = await DIGESTS.find(context, name)
    if not digest["is_active"]:
        raise Conflict(
            "digest_inactive", f"the digest {name} takes no events", hint="set is_active to true again"
        )
    _check(spec)
    event_id = spec.event_id or uuid4().hex
    named = {"digest_id": digest["id"]}
    [gathering] = await context.fetch("digests/lock_gathering", user_id=spec.user_id, key=spec.key, **named)
    if spec.event_id is not None:
        known = await context.fetchrow("digests/get_event", event_id=event_id, **named)
        if known is not None:
            return _event(known)
    number = await _append(context, gathering, spec.data)
    events = gathering["events"] + 1
    if number is None:
        number, events = await _begin(context, digest, spec), 1
    await context.execute(
        "digests/add_event",
        event_id=event_id,
        user_id=spec.user_id,
        key=spec.key,
        message_id=number,
        events=events,
        data=json_text(spec.data),
        **named,
    )
    if events >= digest["most_events"]:
        now = await context.time()
        await move_message(context, encode_id(MESSAGE, number), NotificationMove(send_at=now))
        await context.execute("digests/close_gathering", user_id=spec.user_id, key=spec.key, **named)
    context.changed(
        "digest.event_added",
        name,
        name,
        detail={"event_id": event_id, "notification_id": encode_id(MESSAGE, number)},
    )
    [found] = await context.fetch("digests/get_event", event_id=event_id, **named)
    return _event(found)


async def _begin(context: Context, digest: asyncpg.Record, spec: DigestEventSpec) -> int:
    """Create the message that collects events from now on."""
    zone = await zone_of(context, spec.user_id)
    now = await context.time()
    # The anchor of a rule without its own time: midnight of the day on which the digest was changed.
    start = digest["changed_at"].astimezone(find_zone(zone).info).replace(tzinfo=None)
    start = start.replace(hour=0, minute=0, second=0, microsecond=0)
    at = schedule_of(digest["schedule"], zone, start).next_after(now)
    if at is None:
        raise Conflict(
            "digest_over", f"the digest {digest['name']} has no future time", hint="change its schedule"
        )
    given: dict[str, Any] = {
        "template_id": digest["template_id"],
        "channel": list(digest["channels"]),
        "user_id": spec.user_id,
        "template_vars": {"events": [spec.data], "count": 1, "key": spec.key},
        "local_time": local_text(at.astimezone(find_zone(zone).info)),
        "timezone": zone,
        "fold": "first",
        "gap": "after",
        "topic": digest["topic"],
        "urgency": digest["urgency"],
        "expires_seconds": digest["expires_seconds"],
    }
    return await make_message(context, given, MessageOrigin(digest_id=digest["id"]))


async def _append(context: Context, gathering: asyncpg.Record, data: dict[str, Any]) -> int | None:
    """Add an event to the message that collects events; None if there is none, or it is full."""
    number: int | None = gathering["message_id"]
    if number is None:
        return None
    # Lock the timer first, like workers.
    await context.execute("messages/lock_timers", message_ids=[number])
    row = await context.fetchrow("messages/lock", message_id=number)
    if row is None or row["status"] not in OPEN:
        return None
    added = await context.fetchval(
        "digests/append", message_id=number, data=json_text(data), most_bytes=LARGEST_VARS
    )
    return None if added is None else number


def _check(spec: DigestEventSpec) -> None:
    refuse_nul(spec.data, "data")
    refuse_nul(spec.key, "key")
    if spec.event_id is not None:
        check_text(spec.event_id, "event_id", 200)
    size = len(msgspec.json.encode(spec.data))
    if size > LARGEST_EVENT:
        raise InvalidField(
            "too_large", f"the event has {size:,} bytes", field="data", hint=f"at most {LARGEST_EVENT:,}"
        )


def _event(row: asyncpg.Record) -> DigestEventView:
    return from_row(
        DigestEventView,
        row,
        notification_id=encode_id(MESSAGE, row["message_id"]),
        send_at_utc=row["due_at"],
    )
