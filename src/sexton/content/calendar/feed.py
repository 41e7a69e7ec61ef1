"""Addresses where people's own calendars read what is planned: one for an author, a type, or everything.

Who has the address may read; so it holds a secret, of which only a keyed hash is kept, and it can be revoked.
"""

from __future__ import annotations

import hmac
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from asyncpg import Record

from sexton.content.calendar.calendar import CalendarEntry, list_calendar
from sexton.content.calendar.text import CalendarText
from sexton.content.spec import FeedSpec
from sexton.model import decode_id, encode_id
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, not_found
from sexton.security.keys import read_pepper
from sexton.security.token import is_token, new_token, token_hash

KIND = "content feed"
PAST, AHEAD = timedelta(days=30), timedelta(days=366)
MOST_EVENTS = 2000
PAGE = 1000


class FeedView(msgspec.Struct, frozen=True, kw_only=True):
    """A feed, without its address."""

    feed_id: Annotated[str, about("Its id, `f_…`.")]
    name: Annotated[str, about("What the calendar is called.")]
    entity_type: Annotated[str | None, about("Only of entities of this type.")]
    author: Annotated[str | None, about("Only what this person planned.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]
    revoked_by: Annotated[str | None, about("Who revoked it.")]
    revoked_at: Annotated[datetime | None, about("When it was revoked.")]


class NewFeed(FeedView, frozen=True, kw_only=True):
    """A feed that was just made."""

    token: Annotated[str, about("The secret in its address. It is shown this once.")]
    path: Annotated[str, about("The path of its address on this server.")]


async def create_feed(context: Context, spec: FeedSpec, source: str | None = None) -> NewFeed:
    """Make a feed. Its address is in the answer, and nowhere else. `source` names the key for secrets."""
    return await _create(context, spec, await read_pepper(context.database, source))


@command
async def _create(context: Context, spec: FeedSpec, pepper: bytes) -> NewFeed:
    for field in ("name", "entity_type", "author"):
        if (text := getattr(spec, field)) is not None:
            check_text(text, field, 200)
    token = new_token(KIND, pepper)
    row = await context.fetchrow(
        "content/create_feed",
        namespace=context.namespace,
        name=spec.name,
        entity_type=spec.entity_type,
        author=spec.author,
        hash=token_hash(token, KIND, pepper),
        actor=context.actor,
        now=context.now,
    )
    assert row is not None
    shown = _shown(row)
    after = {"entity_type": shown.entity_type, "author": shown.author}
    context.changed("feed.created", shown.feed_id, shown.name, after=after)
    path = f"/api/v1/content/feeds/{token}/calendar.ics"
    return NewFeed(**msgspec.structs.asdict(shown), token=token, path=path)


@query
async def list_feeds(context: Context, *, cursor: str | None = None, limit: int = 100) -> Page[FeedView]:
    [after] = (0,) if cursor is None else decode_cursor(cursor, tuple[Number])
    rows = await context.fetch(
        "content/list_feeds", namespace=context.namespace, after=after, limit=limit + 1
    )
    return make_page([(encode_cursor(row["id"]), _shown(row)) for row in rows], limit)


@command
async def revoke_feed(context: Context, feed_id: str) -> FeedView:
    """Its address answers no more."""
    number = decode_id("f", feed_id)
    row = None
    if number is not None:
        row = await context.fetchrow(
            "content/revoke_feed",
            feed_id=number,
            namespace=context.namespace,
            actor=context.actor,
            now=context.now,
        )
    if row is None:
        raise not_found("feed", feed_id)
    shown = _shown(row)
    if row["changed"]:
        context.changed("feed.revoked", shown.feed_id, shown.name, after={"revoked_by": shown.revoked_by})
    return shown


async def find_feed(context: Context, token: str, pepper: bytes) -> tuple[FeedView, str] | None:
    """The feed that a secret belongs to, and its namespace. A secret that was
    made up is told without asking the database."""
    if not is_token(token, KIND, pepper):
        return None
    hash_ = token_hash(token, KIND, pepper)
    row = await context.fetchrow("content/find_feed", hash=hash_)
    if row is None or not hmac.compare_digest(row["hash"], hash_):
        return None
    return _shown(row), row["namespace"]


async def feed_calendar(context: Context, feed: FeedView, namespace: str) -> bytes:
    """What a feed shows now, as iCalendar: a month back and a year ahead, at most so many events."""
    return await _calendar(replace(context, namespace=namespace), feed)


@query
async def _calendar(context: Context, feed: FeedView) -> bytes:
    now = await context.time()
    entries: list[CalendarEntry] = []
    cursor = None
    while len(entries) < MOST_EVENTS:
        page = await list_calendar(
            context,
            now - PAST,
            now + AHEAD,
            entity_type=feed.entity_type,
            created_by=feed.author,
            cursor=cursor,
            limit=min(PAGE, MOST_EVENTS - len(entries)),
        )
        entries += page.items
        cursor = page.cursor
        if cursor is None:
            break
    calendar = CalendarText(feed.name)
    for entry in entries:
        calendar.add(entry)
    return calendar.encoded()


def _shown(row: Record) -> FeedView:
    found = {name: row[name] for name in FeedView.__struct_fields__ if name != "feed_id"}
    return FeedView(feed_id=encode_id("f", row["id"]), **found)
