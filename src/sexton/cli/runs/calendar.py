"""`sexton calendar`: addresses of what is planned, for people's own calendars."""

from __future__ import annotations

from typing import Any

from sexton.api.console import routes
from sexton.cli import feeds as shown
from sexton.cli.command import Ask, command


@command(routes.LIST_CALENDAR_FEEDS)
def feeds(ask: Ask) -> int:
    """List feeds of the calendar, without their addresses."""
    return ask.shown(lambda found: shown.show_list(found, "calendar", _of))


@command(routes.CREATE_CALENDAR_FEED, names={"kinds": "--kind"})
def add_feed(ask: Ask) -> int:
    """Make a feed of what is planned: an address for your own calendar.

    Jobs, content and campaigns, or only those of --kind; of jobs, only those with
    a --label. What fires often is one event a day.
    """
    return shown.make(ask)


@command(routes.REVOKE_CALENDAR_FEED)
def revoke_feed(ask: Ask) -> int:
    """Revoke a feed of the calendar: its address answers no more."""
    return shown.revoke(ask)


def _of(feed: dict[str, Any]) -> str:
    return ", ".join(feed["kinds"]) + (f" with {feed['label']}" if feed["label"] else "")
