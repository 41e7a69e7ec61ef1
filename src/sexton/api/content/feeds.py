"""Calendar feeds over HTTP: create, list, revoke, and read by their secret address."""

from __future__ import annotations

from typing import Any

from sexton.api.content import routes
from sexton.api.operation import Answer, Call, operation
from sexton.api.route import PageQuery
from sexton.api.security.feed_address import CALENDAR, by_address
from sexton.content.calendar.feed import (
    FEEDS,
    FeedView,
    NewFeed,
    create_feed,
    feed_calendar,
    list_feeds,
    revoke_feed,
)
from sexton.content.spec import FeedSpec

FEED: dict[str, Any] = {
    "feed_id": "f_1",
    "name": "Ann's posts",
    "entity_type": "post",
    "author": "ann",
    "created_by": "key k_1",
    "created_at": "2027-03-01T12:00:00Z",
    "revoked_by": None,
    "revoked_at": None,
}
NEW_FEED = {**FEED, "token": "Zm9v…", "path": "/api/v1/content/feeds/Zm9v…/calendar.ics"}


@operation(
    routes.CREATE_FEED, status=201, answer=NewFeed, kept=False,
    example={"name": "Ann's posts", "entity_type": "post", "author": "ann"}, answer_example=NEW_FEED,
)  # fmt: skip
async def create_content_feed(call: Call) -> Answer:
    """The address is shown only once. Anyone with it may read the calendar until the feed is revoked."""
    made = await create_feed(
        call.context, call.json(FeedSpec, optional=True), call.services.settings.secret_key
    )
    return Answer(made, headers={"Location": made.path})


@operation(routes.LIST_FEEDS, lists=True, answer=list[FeedView], answer_example=[FEED])
async def list_content_feeds(call: Call) -> Answer:
    """In the order of creation, without their addresses."""
    return call.paged(await list_feeds(call.reading, **call.filters(PageQuery)))


@operation(routes.REVOKE_FEED, answer=FeedView, answer_example=FEED)
async def revoke_content_feed(call: Call) -> Answer:
    """Its address stops working."""
    return Answer(await revoke_feed(call.context, call.path("feed")))


@operation(
    routes.READ_FEED, answer=str, authorise=by_address(FEEDS), media_type="text/calendar",
    answer_example=CALENDAR,
)  # fmt: skip
async def read_content_feed(call: Call) -> Answer:
    """iCalendar: one month back and one year ahead, at most 2000 events. The secret in the address authorises
    the call."""
    feed, namespace = call.request.state.feed
    return Answer(await feed_calendar(call.context, feed, namespace))
