"""Calendar feeds: the secret in the address authorises the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from sexton.api.operation import Call
from sexton.refusal import not_found
from sexton.security.feed_table import FeedTable

CALENDAR = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n…\r\nEND:VCALENDAR\r\n"


def by_address(feeds: FeedTable[Any]) -> Callable[[Call], Awaitable[None]]:
    """For `authorise=`: afterwards `call.request.state.feed` is the feed and its namespace."""

    async def authorise(call: Call) -> None:
        pepper = await call.services.guard.sessions.pepper()
        found = await feeds.find(call.context, call.path("token"), pepper)
        if found is None:
            raise call.wrong_token(not_found(feeds.noun, "at this address"))
        call.request.state.feed = found

    return authorise
