"""Feeds of the calendar over HTTP: made, listed, revoked; and read by callers that have the address."""

from __future__ import annotations

from typing import Any

from sexton.api.console import routes
from sexton.api.console.calendar_text import calendar_of
from sexton.api.console.routes import CalendarFeedsQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.security.feed_address import CALENDAR, by_address
from sexton.runs.feed import (
    CALENDAR_FEEDS,
    CalendarFeedView,
    NewCalendarFeed,
    create_calendar_feed,
    list_calendar_feeds,
    revoke_calendar_feed,
)
from sexton.runs.feed_spec import CalendarFeedSpec

FEED: dict[str, Any] = {
    "feed_id": "cf_1",
    "name": "Billing",
    "kinds": ["jobs"],
    "label": "team=billing",
    "timezone": "Europe/Berlin",
    "created_by": "key k_1",
    "created_at": "2027-03-01T12:00:00Z",
    "revoked_by": None,
    "revoked_at": None,
}
NEW_FEED = {**FEED, "token": "Zm9v…", "path": "/api/v1/calendar/feeds/Zm9v…/calendar.ics"}


@operation(
    routes.CREATE_CALENDAR_FEED, status=201, answer=NewCalendarFeed, errors=(422,), kept=False,
    example={"name": "Billing", "kinds": ["jobs"], "label": "team=billing", "timezone": "Europe/Berlin"},
    answer_example=NEW_FEED,
)  # fmt: skip
async def create_feed_of_calendar(call: Call) -> Answer:
    """The address is shown this once. A caller with it may read names and times of what is planned, until
    the feed is revoked."""
    spec = call.json(CalendarFeedSpec, optional=True)
    made = await create_calendar_feed(call.context, spec, call.services.settings.secret_key)
    return Answer(made, headers={"Location": made.path})


@operation(
    routes.LIST_CALENDAR_FEEDS, lists=True, answer=list[CalendarFeedView], errors=(422,),
    answer_example=[FEED],
)  # fmt: skip
async def list_feeds_of_calendar(call: Call) -> Answer:
    """In the order in which they were made, without their addresses."""
    return call.paged(await list_calendar_feeds(call.reading, **call.filters(CalendarFeedsQuery)))


@operation(routes.REVOKE_CALENDAR_FEED, answer=CalendarFeedView, errors=(404,), answer_example=FEED)
async def revoke_feed_of_calendar(call: Call) -> Answer:
    """Its address answers no more."""
    return Answer(await revoke_calendar_feed(call.context, call.path("calendar_feed")))


@operation(
    routes.READ_CALENDAR_FEED, answer=str, errors=(404,), authorise=by_address(CALENDAR_FEEDS), heavy=True,
    media_type="text/calendar", answer_example=CALENDAR,
)  # fmt: skip
async def read_feed_of_calendar(call: Call) -> Answer:
    """iCalendar, at most 2,000 events and about a megabyte: jobs of the next 30 days, content and campaigns
    of the next year. What fires often is one event of each day, with how many times. The secret in the
    address authorises the call."""
    feed, namespace = call.request.state.feed
    return Answer(await calendar_of(call.context, feed, namespace, call.services.planned_hours))
