"""Calendar feeds: planned jobs, content and campaigns, for people's own calendars."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from sexton.errors import InvalidField
from sexton.jobs.filter import JobFilter
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text
from sexton.runs.feed_spec import KINDS, CalendarFeedSpec
from sexton.schedules.zone import zone
from sexton.security.feed_table import FeedTable
from sexton.security.keys import read_pepper


class CalendarFeedView(msgspec.Struct, frozen=True, kw_only=True):
    """A feed, without its address."""

    feed_id: Annotated[str, about("The id of the feed, `cf_…`.")]
    name: Annotated[str, about("The name of the calendar.")]
    kinds: Annotated[list[str], about("What it shows: jobs, content, campaigns.")]
    label: Annotated[str | None, about("Only jobs with this label.")]
    timezone: Annotated[str, about("The zone of the days: jobs that fire often are counted by the day.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]
    revoked_by: Annotated[str | None, about("Who revoked it.")]
    revoked_at: Annotated[datetime | None, about("When it was revoked.")]


class NewCalendarFeed(CalendarFeedView, frozen=True, kw_only=True):
    """A feed that was just made."""

    token: Annotated[str, about("The secret in the address. It is shown only in this answer.")]
    path: Annotated[str, about("The path of the feed on this server.")]


CALENDAR_FEEDS = FeedTable(
    noun="calendar feed",
    token_kind="calendar feed",
    id_prefix="cf",
    path="/api/v1/calendar/feeds",
    view=CalendarFeedView,
    creating="calendar/create_feed",
    listing="calendar/list_feeds",
    revoking="calendar/revoke_feed",
    finding="calendar/find_feed",
)


async def create_calendar_feed(
    context: Context, spec: CalendarFeedSpec, source: str | None = None
) -> NewCalendarFeed:
    """Create a feed. Only this answer has its address. `source` names the key for secrets."""
    return await _create(context, spec, await read_pepper(context.database, source))


@command
async def _create(context: Context, spec: CalendarFeedSpec, pepper: bytes) -> NewCalendarFeed:
    check_text(spec.name, "name", 200)
    zone(spec.timezone)
    JobFilter(label=spec.label).parameters()
    if spec.label is not None and "jobs" not in spec.kinds:
        hint = "leave it out, or add jobs"
        message = "label selects jobs, but kinds has no jobs"
        raise InvalidField("bad_value", message, field="label", hint=hint)
    made = await CALENDAR_FEEDS.create(
        context,
        pepper,
        audited=("kinds", "label"),
        name=spec.name,
        kinds=[kind for kind in KINDS if kind in spec.kinds],
        label=spec.label,
        timezone=spec.timezone,
    )
    return NewCalendarFeed(**made)


@query
async def list_calendar_feeds(
    context: Context, *, cursor: str | None = None, limit: int = 100
) -> Page[CalendarFeedView]:
    return await CALENDAR_FEEDS.page(context, cursor, limit)


@command
async def revoke_calendar_feed(context: Context, feed_id: str) -> CalendarFeedView:
    """Revoke a feed: its address stops working."""
    return await CALENDAR_FEEDS.revoke(context, feed_id)
