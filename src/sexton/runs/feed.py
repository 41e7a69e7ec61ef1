"""Addresses where people's own calendars read what is planned: jobs, content and campaigns.

Who has the address may read; so it holds a secret, of which only a keyed hash is kept, and it can be revoked.
"""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Annotated

import msgspec
from asyncpg import Record

from sexton.errors import InvalidField
from sexton.jobs.filter import JobFilter
from sexton.model import decode_id, encode_id
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, not_found
from sexton.runs.feed_spec import KINDS, CalendarFeedSpec
from sexton.schedules.zone import zone
from sexton.security.keys import read_pepper
from sexton.security.token import is_token, new_token, token_hash

KIND = "calendar feed"


class CalendarFeedView(msgspec.Struct, frozen=True, kw_only=True):
    """A feed, without its address."""

    feed_id: Annotated[str, about("Its id, `cf_…`.")]
    name: Annotated[str, about("What the calendar is called.")]
    kinds: Annotated[list[str], about("What it shows: jobs, content, campaigns.")]
    label: Annotated[str | None, about("Of jobs, only those with this label.")]
    timezone: Annotated[str, about("The zone whose days count what fires often.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]
    revoked_by: Annotated[str | None, about("Who revoked it.")]
    revoked_at: Annotated[datetime | None, about("When it was revoked.")]


class NewCalendarFeed(CalendarFeedView, frozen=True, kw_only=True):
    """A feed that was just made."""

    token: Annotated[str, about("The secret in its address. It is shown this once.")]
    path: Annotated[str, about("The path of its address on this server.")]


async def create_calendar_feed(
    context: Context, spec: CalendarFeedSpec, source: str | None = None
) -> NewCalendarFeed:
    """Make a feed. Its address is in the answer, and nowhere else. `source` names the key for secrets."""
    return await _create(context, spec, await read_pepper(context.database, source))


@command
async def _create(context: Context, spec: CalendarFeedSpec, pepper: bytes) -> NewCalendarFeed:
    check_text(spec.name, "name", 200)
    zone(spec.timezone)
    JobFilter(label=spec.label).parameters()
    if spec.label is not None and "jobs" not in spec.kinds:
        hint = "leave it out, or add jobs"
        raise InvalidField("bad_value", "label is for jobs, which it does not show", field="label", hint=hint)
    token = new_token(KIND, pepper)
    row = await context.fetchrow(
        "calendar/create_feed",
        namespace=context.namespace,
        name=spec.name,
        kinds=[kind for kind in KINDS if kind in spec.kinds],
        label=spec.label,
        timezone=spec.timezone,
        hash=token_hash(token, KIND, pepper),
        actor=context.actor,
        now=context.now,
    )
    assert row is not None
    shown = _shown(row)
    after = {"kinds": shown.kinds, "label": shown.label}
    context.changed("calendar_feed.created", shown.feed_id, shown.name, after=after)
    path = f"/api/v1/calendar/feeds/{token}/calendar.ics"
    return NewCalendarFeed(**msgspec.structs.asdict(shown), token=token, path=path)


@query
async def list_calendar_feeds(
    context: Context, *, cursor: str | None = None, limit: int = 100
) -> Page[CalendarFeedView]:
    [after] = (0,) if cursor is None else decode_cursor(cursor, tuple[Number])
    rows = await context.fetch(
        "calendar/list_feeds", namespace=context.namespace, after=after, limit=limit + 1
    )
    return make_page([(encode_cursor(row["id"]), _shown(row)) for row in rows], limit)


@command
async def revoke_calendar_feed(context: Context, feed_id: str) -> CalendarFeedView:
    """Its address answers no more."""
    number = decode_id("cf", feed_id)
    row = None
    if number is not None:
        row = await context.fetchrow(
            "calendar/revoke_feed",
            feed_id=number,
            namespace=context.namespace,
            actor=context.actor,
            now=context.now,
        )
    if row is None:
        raise not_found("calendar feed", feed_id)
    shown = _shown(row)
    if row["changed"]:
        after = {"revoked_by": shown.revoked_by}
        context.changed("calendar_feed.revoked", shown.feed_id, shown.name, after=after)
    return shown


async def find_calendar_feed(
    context: Context, token: str, pepper: bytes
) -> tuple[CalendarFeedView, str] | None:
    """The feed that a secret belongs to, and its namespace. A secret that was made up is told without asking
    the database."""
    if not is_token(token, KIND, pepper):
        return None
    hash_ = token_hash(token, KIND, pepper)
    row = await context.fetchrow("calendar/find_feed", hash=hash_)
    if row is None or not hmac.compare_digest(row["hash"], hash_):
        return None
    return _shown(row), row["namespace"]


def _shown(row: Record) -> CalendarFeedView:
    found = {name: row[name] for name in CalendarFeedView.__struct_fields__ if name != "feed_id"}
    return CalendarFeedView(feed_id=encode_id("cf", row["id"]), **found)
