"""Content feeds for people's own calendars: the actions of an author, for a type, or all."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from sexton.content.calendar.calendar import CalendarEntry, list_calendar
from sexton.content.calendar.text import CalendarText
from sexton.content.spec import FeedSpec
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text
from sexton.security.feed_table import FeedTable
from sexton.security.keys import read_pepper

PAST, AHEAD = timedelta(days=30), timedelta(days=366)
MOST_EVENTS = 2000
PAGE = 1000


class FeedView(msgspec.Struct, frozen=True, kw_only=True):
    """A feed, without its address."""

    feed_id: Annotated[str, about("Its id, `f_…`.")]
    name: Annotated[str, about("The name of the calendar.")]
    entity_type: Annotated[str | None, about("Only of entities of this type.")]
    author: Annotated[str | None, about("Only actions that this person planned.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]
    revoked_by: Annotated[str | None, about("Who revoked it.")]
    revoked_at: Annotated[datetime | None, about("When it was revoked.")]


class NewFeed(FeedView, frozen=True, kw_only=True):
    """A feed that was just made."""

    token: Annotated[str, about("The secret in the address. It is shown only in this answer.")]
    path: Annotated[str, about("The path of the feed on this server.")]


FEEDS = FeedTable(
    noun="feed",
    token_kind="content feed",
    id_prefix="f",
    path="/api/v1/content/feeds",
    view=FeedView,
    creating="content/create_feed",
    listing="content/list_feeds",
    revoking="content/revoke_feed",
    finding="content/find_feed",
)


async def create_feed(context: Context, spec: FeedSpec, source: str | None = None) -> NewFeed:
    """Create a feed. Only this answer has its address. `source` names the key for secrets."""
    return await _create(context, spec, await read_pepper(context.database, source))


@command
async def _create(context: Context, spec: FeedSpec, pepper: bytes) -> NewFeed:
    columns = {"name": spec.name, "entity_type": spec.entity_type, "author": spec.author}
    for field, text in columns.items():
        if text is not None:
            check_text(text, field, 200)
    return NewFeed(**await FEEDS.create(context, pepper, audited=("entity_type", "author"), **columns))


@query
async def list_feeds(context: Context, *, cursor: str | None = None, limit: int = 100) -> Page[FeedView]:
    return await FEEDS.page(context, cursor, limit)


@command
async def revoke_feed(context: Context, feed_id: str) -> FeedView:
    """Revoke a feed: its address stops working."""
    return await FEEDS.revoke(context, feed_id)


async def feed_calendar(context: Context, feed: FeedView, namespace: str) -> bytes:
    """A feed as iCalendar: a month back and a year ahead, at most `MOST_EVENTS` events."""
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
