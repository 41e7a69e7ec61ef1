"""The inbox of a recipient: the messages of the channel in_app. The recipient's application reads it with a
token that opens only this inbox, for a limited time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import asyncpg
import msgspec
from msgspec import Meta

from sexton import clock
from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.notifications.model import MESSAGE
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text
from sexton.security.keys import read_pepper
from sexton.security.token import seal, unseal

KIND = "inbox"
ITEM = "i"
MOST_COUNTED = 1000
LONGEST_TOKEN = 4000
EXPIRED_AT_ONCE = 5000
LAST = 2**63 - 1


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """One message in an inbox."""

    item_id: Annotated[str, about("Its id, `i_…`.")]
    notification_id: Annotated[str, about("The message, `n_…`.")]
    parts: Annotated[dict[str, Any], about("Its texts: title, body, link, …")]
    topic: Annotated[str | None, about("What it is about.")]
    created_at: Annotated[datetime, about("When it came.")]
    read_at: Annotated[datetime | None, about("When it was read.")]
    archived_at: Annotated[datetime | None, about("When it was archived.")]


class InboxTokenSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A token that opens one inbox."""

    seconds: Annotated[int, Meta(ge=60, le=90 * 86_400, description="For how long it opens the inbox.")] = (
        86_400
    )


class InboxToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that was just made."""

    token: Annotated[str, about("The token in the addresses of the inbox. It is shown only in this answer.")]
    path: Annotated[str, about("The path of the inbox on this server.")]
    expires_at: Annotated[datetime, about("When it ends.")]


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """How many are not read."""

    unread: Annotated[
        int, about(f"How many are neither read nor archived; {MOST_COUNTED} is the most counted.")
    ]


class MarkSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which messages of an inbox to mark, and how."""

    item_ids: Annotated[
        Annotated[list[str], Meta(max_length=500)] | None,
        about("Which; null: all that are not archived."),
    ] = None
    read: Annotated[bool | None, about("Read, or not read again; null: as it is.")] = None
    archived: Annotated[bool | None, about("Archived, or back again; null: as it is.")] = None


class _Pass(msgspec.Struct, frozen=True, array_like=True):
    """The content of a token."""

    namespace: str
    user_id: str
    expires: int


@command
async def create_inbox_token(
    context: Context, user_id: str, spec: InboxTokenSpec, source: str | None = None
) -> InboxToken:
    """Create a token to read and mark the inbox of a recipient. `source` names the key for secrets."""
    check_text(user_id, "user_id", 500)
    pepper = await read_pepper(context.database, source, context.connection)
    expires_at = (await context.time()).replace(microsecond=0) + timedelta(seconds=spec.seconds)
    content = msgspec.json.encode(_Pass(context.namespace, user_id, int(expires_at.timestamp())))
    token = seal(KIND, content, pepper)
    context.changed("inbox.token_created", user_id, after={"expires_at": clock.iso(expires_at)})
    return InboxToken(token=token, path=f"/api/v1/inbox/{token}", expires_at=expires_at)


def read_inbox_token(context: Context, token: str, pepper: bytes) -> tuple[str, str, datetime] | None:
    """The namespace and the recipient of a token, and its end; None if the token is not valid."""
    if len(token) > LONGEST_TOKEN:
        return None
    content = unseal(KIND, token, pepper)
    if content is None:
        return None
    known = msgspec.json.decode(content, type=_Pass)
    until = datetime.fromtimestamp(known.expires, clock.now().tzinfo)
    return (known.namespace, known.user_id, until) if until > (context.now or clock.now()) else None


@query
async def list_inbox(
    context: Context,
    user_id: str,
    *,
    unread: bool = False,
    archived: bool = False,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[InboxItem]:
    """The latest first."""
    [before] = (LAST,) if cursor is None else decode_cursor(cursor, tuple[Number])
    rows = await context.fetch(
        "inbox/list", user_id=user_id, before=before, unread=unread, archived=archived, limit=limit + 1
    )
    return make_page([(encode_cursor(row["id"]), shown(row)) for row in rows], limit)


@query
async def count_unread(context: Context, user_id: str) -> Unread:
    n = await context.fetchval("inbox/count_unread", user_id=user_id, limit=MOST_COUNTED)
    return Unread(unread=n)


@command
async def mark_inbox(context: Context, user_id: str, spec: MarkSpec) -> list[InboxItem]:
    """Mark messages as read or archived, or remove these marks. Returns the changed messages."""
    if spec.read is None and spec.archived is None:
        raise InvalidField(
            "nothing_given", "neither read nor archived is given", field="read", hint="write true or false"
        )
    rows = await context.fetch(
        "inbox/mark",
        user_id=user_id,
        ids=None
        if spec.item_ids is None
        else [number_of(ITEM, each, "inbox item") for each in spec.item_ids],
        read=spec.read,
        archived=spec.archived,
    )
    if spec.read:
        await context.execute("inbox/note_read", message_ids=[row["message_id"] for row in rows])
    return [shown(row) for row in rows]


@command
async def expire_inbox(context: Context) -> int:
    """Delete expired messages from the inboxes of a namespace; returns how many, at most
    `EXPIRED_AT_ONCE`."""
    return int(await context.fetchval("inbox/expire", limit=EXPIRED_AT_ONCE))


def shown(row: asyncpg.Record) -> InboxItem:
    return from_row(
        InboxItem,
        row,
        item_id=encode_id(ITEM, row["id"]),
        notification_id=encode_id(MESSAGE, row["message_id"]),
        parts=msgspec.json.decode(row["parts"]),
    )
