"""Recipients: addresses, zone, language, quiet hours, opt-outs, caps and custom fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from shlex import quote
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.jobs.moment import find_zone
from sexton.notifications.recipients.quiet import read_ranges
from sexton.notifications.recurring.following import follow_recipients, forget_recipient
from sexton.notifications.spec import RecipientLine, RecipientSort, RecipientSpec
from sexton.notifications.templates.rendering import known_locale
from sexton.postgres.estimate import Total, total
from sexton.postgres.jsonb import json_or_null
from sexton.postgres.page import LAST_CHARACTER, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, converted, decoded, each_line, not_found, refuse_nul

COLUMNS = (
    "email", "phone", "devices", "addresses", "timezone", "locale", "quiet_hours", "opt_outs", "caps",
    "fields",
)  # fmt: skip
JSON = frozenset({"devices", "addresses", "quiet_hours", "opt_outs", "caps", "fields"})
MOST_LINES = 20_000
LARGEST_FIELDS = 64 * 1024
EMAIL = re.compile(r"[^@\s\x00-\x20\x7f<>,;]+@[^@\s\x00-\x20\x7f<>,;]+")
PHONE = re.compile(r"\+?[0-9]{3,20}")


class RecipientView(msgspec.Struct, frozen=True, kw_only=True):
    """A recipient."""

    user_id: Annotated[str, about("The recipient's id, one of your own.")]
    email: Annotated[str | None, about("Where e-mail goes.")]
    phone: Annotated[str | None, about("Where SMS go.")]
    devices: Annotated[list[Any], about("Where push messages go.")]
    addresses: Annotated[dict[str, Any], about("Addresses on other channels.")]
    timezone: Annotated[str | None, about("The zone; null: the namespace's.")]
    locale: Annotated[str | None, about("The language; null: the namespace's.")]
    quiet_hours: Annotated[Any, about("When nothing is sent.")]
    opt_outs: Annotated[list[Any], about("Channels and topics that the recipient does not want.")]
    caps: Annotated[list[Any], about("How many messages the recipient gets at most.")]
    fields: Annotated[dict[str, Any], about("Fields of your own.")]
    suppressed_at: Annotated[datetime | None, about("Since when nothing is sent to the recipient.")]
    suppressed_reason: Annotated[str | None, about("Why nothing is sent.")]
    created_at: Annotated[datetime, about("When the recipient was added.")]
    updated_at: Annotated[datetime, about("When the recipient was changed.")]


class ErasureView(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased of a person."""

    user_id: Annotated[str, about("The recipient whose data was erased.")]
    erased_at: Annotated[datetime, about("When the data was erased.")]
    rows: Annotated[dict[str, int], about("How many rows, by table.")]
    certificate: Annotated[str, about("The action of the entry in the audit that says so.")]


@command
async def put_recipient(context: Context, user_id: str, spec: RecipientSpec) -> RecipientView:
    """Create or replace a recipient."""
    check_user_id(user_id)
    columns = columns_of(spec)
    [row] = await context.fetch("recipients/put", user_id=user_id, **columns)
    await follow_recipients(context, [user_id])
    # The audit names the fields without values, because it outlasts the recipient.
    context.changed(
        "recipient.created" if row["created"] else "recipient.changed",
        user_id,
        detail={"fields": sorted(name for name, value in columns.items() if value is not None)},
    )
    return view(row)


@command
async def change_recipient(context: Context, user_id: str, changes: Mapping[str, Any]) -> RecipientView:
    """Change some fields; null clears one."""
    row = await context.require("recipient", user_id, "recipients/lock", user_id=user_id)
    stored = {name: _loaded(row, name) for name in COLUMNS}
    for name in changes:
        if name not in COLUMNS:
            converted(dict(changes), RecipientSpec)  # raises for the unknown field
    return await put_recipient(context, user_id, converted({**stored, **changes}, RecipientSpec))


@query
async def get_recipient(context: Context, user_id: str) -> RecipientView:
    row = await context.require("recipient", user_id, "recipients/get", user_id=user_id)
    return view(row)


@query
async def list_recipients(
    context: Context,
    *,
    search: str = "",
    sort: RecipientSort = "user_id",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[RecipientView]:
    """Recipients by their ids, or the reverse; `search` is a prefix of the id."""
    rising = sort == "user_id"
    start = "" if rising else LAST_CHARACTER
    rows = await context.fetch(
        "recipients/list" if rising else "recipients/list_last",
        place=start if cursor is None else decode_cursor(cursor, tuple[str])[0],
        first=search,
        last=search + LAST_CHARACTER,
        limit=limit + 1,
    )
    return make_page([(encode_cursor(row["user_id"]), view(row)) for row in rows], limit)


@query
async def count_recipients(context: Context, *, search: str = "") -> Total:
    """How many have an id that begins with `search`."""
    every = {"namespace": context.namespace, "place": "", "first": search, "last": search + LAST_CHARACTER}
    return await total(context, "recipients/list", bound="limit", **every)


@command
async def import_recipients(context: Context, lines: Sequence[RecipientLine | bytes | str]) -> int:
    """Create or change a chunk of recipients, all or none; returns the number of new ones. Fields that a line
    leaves out stay; of two lines for one recipient the later one counts."""
    if len(lines) > MOST_LINES:
        hint = f"send at most {MOST_LINES} at a time"
        raise InvalidField("too_many", f"{len(lines)} recipients in one chunk", field="lines", hint=hint)
    found: dict[str, tuple[Any, ...]] = {}
    for user_id, columns in each_line(lines, _columns_of_line):
        before = found.get(user_id)
        found[user_id] = columns if before is None else tuple(map(_later, columns, before))
    if not found:
        return 0
    # In a fixed order, so that two imports cannot deadlock.
    users = sorted(found)
    arrays = zip(*(found[user] for user in users), strict=True)
    new = await context.fetchval(
        "recipients/import",
        user_ids=users,
        **{
            # `unnest` fills up an array that is shorter than the others with nulls.
            name if name.endswith("s") else f"{name}s": []
            if column.count(None) == len(column)
            else list(column)
            for name, column in zip(COLUMNS, arrays, strict=True)
        },
    )
    await follow_recipients(context, users)
    context.changed("recipients.imported", detail={"count": len(users), "new": new})
    return int(new)


@command
async def suppress_recipient(context: Context, user_id: str) -> RecipientView:
    """Send nothing to a recipient from now on, on any channel, also what is scheduled."""
    row = await context.require("recipient", user_id, "recipients/lock", user_id=user_id)
    if row["suppressed_at"] is not None:
        raise Conflict(
            "already_suppressed", f"{user_id} is suppressed: {row['suppressed_reason']}",
            hint=f"sexton recipients unsuppress {quote(user_id)}",
        )  # fmt: skip
    reason = context.reason or f"by {context.actor}"
    await context.execute("recipients/suppress", user_id=user_id, reason=reason)
    context.changed("recipient.suppressed", user_id, before={"suppressed": False}, after={"suppressed": True})
    return await get_recipient(context, user_id)


@command
async def unsuppress_recipient(context: Context, user_id: str) -> RecipientView:
    """Send to a suppressed recipient again. Suppressed addresses stay suppressed."""
    row = await context.require("recipient", user_id, "recipients/lock", user_id=user_id)
    if row["suppressed_at"] is None:
        raise Conflict("not_suppressed", f"{user_id} is not suppressed", hint="there is nothing to do")
    await context.execute("recipients/suppress", user_id=user_id, reason=None)
    context.changed(
        "recipient.unsuppressed", user_id, before={"suppressed": True}, after={"suppressed": False}
    )
    return await get_recipient(context, user_id)


@command
async def erase_recipient(context: Context, user_id: str, *, reason: str | None = None) -> ErasureView:
    """Remove all data about a person: the recipient, the messages with their events, and the suppressions of
    the addresses. An audit entry certifies it."""
    now = await context.time()
    recurring = await forget_recipient(context, user_id)
    [row] = await context.fetch("recipients/erase", user_id=user_id)
    found = {**dict(row), "notification_schedules": recurring}
    rows = {name: count for name, count in found.items() if count}
    if not rows:
        raise not_found("recipient", user_id)
    context.changed("recipient.erased", user_id, detail={"rows": rows, "at": now}, reason=reason)
    return ErasureView(user_id=user_id, erased_at=now, rows=rows, certificate="recipient.erased")


def read_line(line: bytes | str) -> RecipientLine:
    """A line of an import."""
    return decoded(line, RecipientLine)


def check_user_id(user_id: str) -> None:
    check_text(user_id, "user_id", 200)
    if "\n" in user_id or "\t" in user_id:
        raise InvalidField("bad_text", "user_id has a line end", field="user_id", hint="remove it")


def columns_of(spec: RecipientSpec) -> dict[str, Any]:
    """The columns of a specification, after checks."""
    if spec.timezone is not None:
        find_zone(spec.timezone)
    if spec.quiet_hours is not None:
        read_ranges(spec.quiet_hours)
    for place, each in enumerate(spec.opt_outs or ()):
        if each.channel is None and each.topic is None:
            raise InvalidField(
                "empty", "it names neither a channel nor a topic", field=f"opt_outs[{place}]",
                hint='such as {"channel": "sms"} or {"topic": "news"}',
            )  # fmt: skip
    for place, cap in enumerate(spec.caps or ()):
        check_cap(cap.per, f"caps[{place}].per")
    return {
        "email": spec.email and check_email(spec.email),
        "phone": spec.phone and check_phone(spec.phone),
        "devices": _bounded(spec.devices, "devices"),
        "addresses": _bounded(spec.addresses, "addresses"),
        "timezone": spec.timezone,
        "locale": spec.locale and known_locale(spec.locale),
        "quiet_hours": json_or_null(spec.quiet_hours),
        "opt_outs": json_or_null(spec.opt_outs),
        "caps": json_or_null(spec.caps),
        "fields": _bounded(spec.fields, "fields"),
    }


def check_cap(per: str, field: str) -> None:
    if per not in ("day", "week"):
        raise InvalidField("bad_value", f"per is {per!r}", field=field, hint="use day or week")


def check_email(text: str, field: str = "email") -> str:
    if not EMAIL.fullmatch(text):
        raise InvalidField(
            "bad_address", f"{text!r} is not an e-mail address", field=field, hint="such as ann@example.org"
        )
    return text


def check_phone(text: str, field: str = "phone") -> str:
    number = re.sub(r"[\s().-]", "", text)
    if not PHONE.fullmatch(number):
        raise InvalidField(
            "bad_address", f"{text!r} is not a phone number", field=field, hint="such as +4915112345678"
        )
    return number


def view(row: asyncpg.Record) -> RecipientView:
    return from_row(
        RecipientView,
        row,
        devices=_loaded(row, "devices") or [],
        addresses=_loaded(row, "addresses") or {},
        quiet_hours=_loaded(row, "quiet_hours"),
        opt_outs=_loaded(row, "opt_outs") or [],
        caps=_loaded(row, "caps") or [],
        fields=_loaded(row, "fields") or {},
    )


def _columns_of_line(line: RecipientLine | bytes | str) -> tuple[str, tuple[Any, ...]]:
    spec = line if isinstance(line, RecipientLine) else read_line(line)
    check_user_id(spec.user_id)
    return spec.user_id, tuple(columns_of(spec).values())


def _later(later: Any, before: Any) -> Any:
    return before if later is None else later


def _loaded(row: asyncpg.Record, name: str) -> Any:
    value = row[name]
    return msgspec.json.decode(value) if name in JSON and value is not None else value


def _bounded(value: Any, field: str) -> str | None:
    if value is None:
        return None
    text = msgspec.json.encode(value)
    if b"\\u0000" in text:
        refuse_nul(value, field)  # it may also be an escaped backslash before u0000
    if len(text) > LARGEST_FIELDS:
        raise InvalidField(
            "too_large", f"{field} has {len(text):,} bytes", field=field, hint="at most 64 KiB"
        )
    return text.decode()
