"""Create, cancel and move single messages. A message can change until it is submitted, under the lock of its
timer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import asyncpg

from sexton.clock import iso, whole_second
from sexton.errors import Conflict, InvalidField
from sexton.jobs.moment import Moment, find_zone, read_moment
from sexton.model import encode_id
from sexton.notifications.model import EXPIRES_SECONDS, MESSAGE, OPEN, MessageStatus, Urgency
from sexton.notifications.read import NotificationView, message_number, view
from sexton.notifications.recipients.recipient import check_email, check_phone
from sexton.notifications.sending import wave
from sexton.notifications.spec import (
    LONGEST_ADDRESS,
    MOST_CHANNELS,
    ChannelStep,
    NotificationMove,
    NotificationSpec,
)
from sexton.notifications.templates.template import LARGEST_VARS, StoredTemplate, no_texts, unknown_template
from sexton.postgres.database import by_column
from sexton.postgres.jsonb import json_text, json_value
from sexton.postgres.transaction import Context, command
from sexton.refusal import converted, decoded, each_line, refuse_nul

RETRY_SECONDS = 300
MOST_LINES = 5000
CHANNEL = re.compile(r"[a-z][a-z0-9_-]{0,63}")
LATEST = "latest"

Item = NotificationSpec | Mapping[str, Any] | bytes | str


class PlannedMessage(NamedTuple):
    """A new message: the columns of messages/create."""

    user_id: str | None
    address: str | None
    channels: str
    after: str | None
    unless: str | None
    template_id: str
    template_version: int | None
    vars: str
    topic: str | None
    urgency: str | None
    scheduled_at: datetime
    local_time: datetime | None
    timezone: str | None
    timing: str | None
    due_at: datetime
    expires_at: datetime | None
    max_retries: int
    retry_seconds: int


#: Their names as arrays.
COLUMNS = (
    "user_ids", "addresses", "channels", "afters", "unlesses", "template_ids", "template_versions", "vars",
    "topics", "urgencies", "scheduled_ats", "local_times", "timezones", "timings", "due_ats", "expires_ats",
    "max_retries", "retry_seconds",
)  # fmt: skip


class MessageOrigin(NamedTuple):
    """The schedule, digest or sequence that a message belongs to."""

    schedule_id: int | None = None
    digest_id: int | None = None
    sequence_id: int | None = None


class Known(NamedTuple):
    """The data that new messages share."""

    now: datetime
    timezone: str | None
    recipients: Mapping[str, asyncpg.Record]
    templates: Mapping[tuple[str, int | None], StoredTemplate]


SINGLE = MessageOrigin()


@command
async def create_message(context: Context, spec: NotificationSpec) -> NotificationView:
    """Schedule a message, or raise `InvalidField`."""
    return await view(context, await _make(context, spec, SINGLE))


@command
async def make_message(context: Context, item: Item, origin: MessageOrigin) -> int:
    """The number of the new message."""
    return await _make(context, item, origin)


async def _make(context: Context, item: Item, origin: MessageOrigin) -> int:
    spec = read_spec(item)
    known = await _look_up(context, [spec])
    planned = plan(spec, known)
    [number] = await insert(context, [planned], known.now, origin)
    detail = {"template_id": spec.template_id, "send_at": planned.scheduled_at}
    context.changed("notification.created", encode_id(MESSAGE, number), detail=detail)
    return number


@command
async def create_messages(context: Context, items: Sequence[Item]) -> list[str]:
    """Schedule a chunk of messages, all or none; returns their ids."""
    if len(items) > MOST_LINES:
        hint = f"send at most {MOST_LINES} at a time"
        raise InvalidField("too_many", f"{len(items)} messages in one chunk", field="lines", hint=hint)
    specs = each_line(items, read_spec)
    if not specs:
        return []
    known = await _look_up(context, specs)
    plans = each_line(specs, lambda spec: plan(spec, known))
    numbers = await insert(context, plans, known.now, SINGLE)
    ids = [encode_id(MESSAGE, number) for number in numbers]
    context.changed("notifications.created", detail={"count": len(ids), "first": ids[0], "last": ids[-1]})
    return ids


@command
async def cancel_message(context: Context, ref: str, *, why: str | None = None) -> NotificationView:
    """Cancel a message. After the commit it is not sent. `why` replaces the caller's reason in its `why`."""
    row = await _hold(context, ref)
    now = await context.time()
    await context.execute(
        "messages/cancel",
        message_ids=[row["id"]],
        now=now,
        detail=json_text({"by": context.actor, "reason": why or context.reason}),
    )
    context.changed(
        "notification.cancelled", ref, before={"status": row["status"]}, after={"status": "cancelled"}
    )
    return await view(context, row["id"])


@command
async def restore_message(context: Context, ref: str) -> NotificationView:
    """Restore a cancelled message whose time is still ahead. A second call changes nothing."""
    number = message_number(ref)
    row = await context.require("notification", ref, "messages/lock", message_id=number)
    if row["status"] in OPEN:
        return await view(context, number)
    now = await context.time()
    if row["status"] != MessageStatus.CANCELLED:
        raise over(ref, row["status"])
    if row["campaign_id"] is not None:
        raise Conflict("in_campaign", f"{ref} belongs to a campaign", hint="send its recipient a message")
    if row["scheduled_at"] <= now:
        raise Conflict("time_over", f"the time of {ref} is over", hint="schedule another message")
    due_at = whole_second(row["scheduled_at"])
    await context.execute(
        "messages/restore",
        message_id=number,
        due_at=due_at,
        now=now,
        detail=json_text({"by": context.actor, "reason": context.reason}),
    )
    await wave.call(context, [due_at], now)
    context.changed(
        "notification.restored", ref, before={"status": row["status"]}, after={"status": "pending"}
    )
    return await view(context, number)


@command
async def move_message(context: Context, ref: str, move: NotificationMove) -> NotificationView:
    """Move a message to another time."""
    row = await _hold(context, ref)
    if row["campaign_id"] is not None:
        raise Conflict(
            "in_campaign", f"{ref} belongs to a campaign", hint="move the campaign, or cancel this message"
        )
    now = await context.time()
    known = Known(now, row["own_timezone"], {}, {})
    moment, local, timing = _when(move, row["recipient_timezone"], known)
    if move.send_at is None and move.local_time is None:
        raise InvalidField(
            "missing_field", "the move names no time", field="send_at", hint="give send_at or local_time"
        )
    due_at = whole_second(moment.at)
    expires_at = row["expires_at"] and moment.at + (row["expires_at"] - row["scheduled_at"])
    await context.execute(
        "messages/move",
        message_id=row["id"],
        scheduled_at=moment.at,
        local_time=local,
        timezone=moment.timezone,
        timing=timing,
        due_at=due_at,
        expires_at=expires_at,
        now=now,
        detail=json_text({"from": iso(row["scheduled_at"]), "to": iso(moment.at), "by": context.actor}),
    )
    await wave.call(context, [due_at], now)
    context.changed(
        "notification.rescheduled",
        ref,
        before={"send_at": iso(row["scheduled_at"])},
        after={"send_at": iso(moment.at)},
    )
    return await view(context, row["id"])


async def check_message(context: Context, spec: NotificationSpec) -> None:
    """Raise what creating this message would raise; creates nothing."""
    plan(spec, await _look_up(context, [spec]))


async def insert(
    context: Context, plans: Sequence[PlannedMessage], now: datetime, origin: MessageOrigin
) -> list[int]:
    """Insert messages and their timers, and schedule their waves; returns their numbers in order."""
    rows = await context.fetch("messages/create", now=now, **origin._asdict(), **by_column(COLUMNS, plans))
    await wave.call(context, {each.due_at for each in plans}, now)
    return [row["id"] for row in rows]


def plan(spec: NotificationSpec, known: Known) -> PlannedMessage:
    """The row for a specification, with all defaults. Refuses a message that cannot be sent."""
    recipient = _recipient(spec, known)
    steps = _steps(spec.channel)
    template = known.templates.get((spec.template_id, _version(spec)))
    if template is None:
        raise unknown_template(spec.template_id, _version(spec))
    for step in steps:
        if not template.has(step.channel):
            raise no_texts(spec.template_id, step.channel)
    fields = recipient and recipient["fields"]
    template.check(spec.template_vars, json_value(fields))
    refuse_nul(spec.template_vars, "template_vars")
    text = json_text(spec.template_vars)
    if len(text) > LARGEST_VARS:
        raise InvalidField(
            "too_large",
            f"the variables have {len(text):,} bytes",
            field="template_vars",
            hint="at most 64 KiB",
        )
    moment, local, timing = _when(spec, None if recipient is None else recipient["timezone"], known)
    defaults = template.defaults
    urgency = spec.urgency or defaults.get("urgency")
    expires = _expires_seconds(spec, defaults)
    retry = spec.retry_seconds
    if retry is None:
        retry = 0 if urgency == Urgency.ASAP else RETRY_SECONDS
    several = len(steps) > 1
    return PlannedMessage(
        user_id=spec.user_id,
        address=None if spec.address is None else json_text(_addresses(spec.address, steps)),
        channels=",".join(step.channel for step in steps),
        after=",".join(str(step.after_seconds) for step in steps) if several else None,
        unless=",".join(step.unless for step in steps) if several else None,
        template_id=spec.template_id,
        template_version=None if spec.template_version == LATEST else template.version,
        vars=text,
        topic=spec.topic or defaults.get("topic"),
        urgency=urgency,
        scheduled_at=moment.at,
        local_time=local,
        timezone=moment.timezone,
        timing=timing,
        due_at=moment.at if moment.at <= known.now else whole_second(moment.at),
        expires_at=None if expires is None else moment.at + timedelta(seconds=expires),
        max_retries=spec.max_retries,
        retry_seconds=retry,
    )


def read_spec(item: Item) -> NotificationSpec:
    """Read a message from a line of JSON, a mapping, or a specification."""
    if isinstance(item, NotificationSpec):
        return item
    if isinstance(item, bytes | str):
        return decoded(item, NotificationSpec)
    return converted(item, NotificationSpec)


async def _look_up(context: Context, specs: Sequence[NotificationSpec]) -> Known:
    users = sorted({spec.user_id for spec in specs if spec.user_id is not None})
    wanted = sorted({(spec.template_id, _version(spec)) for spec in specs}, key=str)
    row = await context.fetchrow("notifications/get_settings")
    people = await context.fetch("recipients/find_many", user_ids=users) if users else []
    found = await context.fetch(
        "templates/find_many",
        template_ids=[template for template, _ in wanted],
        versions=[version for _, version in wanted],
    )
    templates: dict[tuple[str, int | None], StoredTemplate] = {}
    for each in found:
        if each["deleted_at"] is None:
            stored = StoredTemplate(each)
            templates[stored.template_id, stored.version] = stored
            if stored.version == stored.latest:
                templates[stored.template_id, None] = stored
    return Known(
        await context.time(),
        None if row is None else row["timezone"],
        {each["user_id"]: each for each in people},
        templates,
    )


def _version(spec: NotificationSpec) -> int | None:
    if isinstance(spec.template_version, str):
        if spec.template_version != LATEST:
            raise InvalidField(
                "bad_value",
                f"template_version is {spec.template_version!r}",
                field="template_version",
                hint="give a number, or latest",
            )
        return None
    return spec.template_version


def _recipient(spec: NotificationSpec, known: Known) -> asyncpg.Record | None:
    if spec.user_id is None:
        if spec.address is None:
            raise InvalidField(
                "missing_field",
                "the message names no recipient",
                field="user_id",
                hint="give user_id or address",
            )
        return None
    found = known.recipients.get(spec.user_id)
    if found is None and spec.address is None:
        raise InvalidField(
            "recipient_not_found",
            f"there is no recipient {spec.user_id}",
            field="user_id",
            hint=f"add it: sexton recipients set {spec.user_id}, PUT /api/v1/recipients/{spec.user_id};"
            " or give an address",
        )
    return found


def _steps(channel: str | list[str | ChannelStep]) -> list[ChannelStep]:
    given = [channel] if isinstance(channel, str) else channel
    steps = [ChannelStep(channel=each) if isinstance(each, str) else each for each in given]
    names = [step.channel for step in steps]
    if not 1 <= len(steps) <= MOST_CHANNELS or len(set(names)) < len(names):
        raise InvalidField(
            "bad_value",
            f"channel names {', '.join(names) or 'none'}",
            field="channel",
            hint=f"name 1 to {MOST_CHANNELS} different channels, the first one first",
        )
    for step in steps:
        if not CHANNEL.fullmatch(step.channel):
            raise InvalidField(
                "bad_value",
                f"{step.channel!r} is not a channel",
                field="channel",
                hint="use email, sms, push, in_app, or the name of another channel",
            )
        if step.unless not in ("sent", "delivered", "read"):
            raise InvalidField(
                "bad_value", f"unless is {step.unless!r}", field="channel", hint="use sent, delivered or read"
            )
    return steps


def _addresses(address: Any, steps: Sequence[ChannelStep]) -> dict[str, Any]:
    """The addresses by channel. With several channels, the address must name them."""
    names = [step.channel for step in steps]
    if len(names) == 1 and not (isinstance(address, dict) and address.keys() == {names[0]}):
        address = {names[0]: address}
    if not isinstance(address, dict) or not address or not address.keys() <= set(names):
        raise InvalidField(
            "bad_address",
            "the address does not say for which channel it is",
            field="address",
            hint='such as {"email": "ann@example.org", "sms": "+4915112345678"}',
        )
    return {name: _address(name, value) for name, value in address.items()}


def _address(channel: str, value: Any) -> Any:
    refuse_nul(value, "address")
    if channel == "push" and isinstance(value, dict):
        return value
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_ADDRESS:
        if channel not in ("email", "sms", "in_app") and isinstance(value, dict) and value:
            return value
        raise InvalidField(
            "bad_address",
            f"{value!r:.200} is not an address for {channel}",
            field="address",
            hint="give text",
        )
    if channel == "email":
        return check_email(value, "address")
    return check_phone(value, "address") if channel == "sms" else value


def _when(
    spec: NotificationSpec | NotificationMove, own: str | None, known: Known
) -> tuple[Moment, datetime | None, str | None]:
    """The moment; and if a local time was given, this time and how it was read."""
    zones = {"message": spec.timezone, "recipient": own, "namespace": known.timezone, "default": "UTC"}
    source, name = next((source, name) for source, name in zones.items() if name is not None)
    if spec.send_at is None and spec.local_time is None:
        return Moment(known.now, known.now, find_zone(name).name), None, None
    moment = read_moment(
        spec.local_time, spec.send_at, name, fold=spec.fold, gap=spec.gap, instant_field="send_at"
    )
    if spec.local_time is None:
        return moment, None, None
    timing = {"zone_from": source, "fold": spec.fold, "gap": spec.gap}
    return moment, moment.local, json_text({key: value for key, value in timing.items() if value})


def _expires_seconds(spec: NotificationSpec, defaults: Mapping[str, Any]) -> int | None:
    """The expiry of the message, else that of its urgency, else of the template, else of the template's
    urgency."""
    if spec.expires_seconds is not None:
        return spec.expires_seconds
    if spec.urgency is not None:
        return EXPIRES_SECONDS.get(spec.urgency)
    if defaults.get("expires_seconds") is not None:
        return int(defaults["expires_seconds"])
    return EXPIRES_SECONDS.get(Urgency(defaults["urgency"])) if defaults.get("urgency") else None


async def _hold(context: Context, ref: str) -> asyncpg.Record:
    """Lock a message. Refuses one that was submitted."""
    number = message_number(ref)
    await lock_sending(context, [number])
    row = await context.require("notification", ref, "messages/lock", message_id=number)
    status = row["status"]
    if row["campaign_id"] is not None and await context.fetch("messages/find_marked", message_ids=[number]):
        status = MessageStatus.PROCESSING.value
    if status not in OPEN:
        raise over(ref, status)
    return row


async def lock_sending(context: Context, numbers: Sequence[int]) -> None:
    """Lock the timers of messages, and the chunks of messages of campaigns. Workers lock these first, too."""
    await context.execute("messages/lock_timers", message_ids=numbers)
    await context.execute("campaigns/lock_chunks_of", message_ids=numbers)


def over(ref: str, status: str) -> Conflict:
    """The refusal to change a message that was submitted or cancelled."""
    return Conflict(
        "already_submitted" if status != MessageStatus.CANCELLED else "already_cancelled",
        f"{ref} is already {status}",
        hint=f"see: sexton notify why {ref}",
    )
