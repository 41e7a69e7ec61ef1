"""`sexton calendar`: feeds of what is planned, for calendar programs."""

from __future__ import annotations

from typing import Any

from sexton.api.console import routes
from sexton.cli import feeds
from sexton.cli.command import Ask, command


@command(routes.CREATE_CALENDAR_FEED, names={"kinds": "--kind"})
def add_feed(ask: Ask) -> int:
    """Make a feed of what is planned: an address for your own calendar.

    Jobs, content and campaigns, or only those of --kind; of jobs, only those with
    a --label. What fires often is one event a day.
    """
    return feeds.make(ask)


def show_feeds(found: list[dict[str, Any]]) -> None:
    feeds.show_list(found, "calendar", _of)


def _of(feed: dict[str, Any]) -> str:
    return ", ".join(feed["kinds"]) + (f" with {feed['label']}" if feed["label"] else "")
