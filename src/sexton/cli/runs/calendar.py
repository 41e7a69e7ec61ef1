"""`sexton calendar`: addresses of what is planned, for people's own calendars."""

from __future__ import annotations

from typing import Any

from sexton.api.console import routes
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write


@command(routes.LIST_CALENDAR_FEEDS)
def feeds(ask: Ask) -> int:
    """List feeds of the calendar, without their addresses."""
    return ask.shown(_show_feeds)


@command(routes.CREATE_CALENDAR_FEED, names={"kinds": "--kind"})
def add_feed(ask: Ask) -> int:
    """Make a feed of what is planned: an address for your own calendar.

    Jobs, content and campaigns, or only those of --kind; of jobs, only those with
    a --label. What fires often is one event a day.
    """

    def view(found: dict[str, Any]) -> None:
        out = console()
        write(out, f"{found['name']} ({found['feed_id']})")
        write(out, f"{ask.client.url}{found['path']}")
        write(console(error=True), "Who has this address may read the calendar. It is shown this once.")

    return ask.shown(view)


@command(routes.REVOKE_CALENDAR_FEED)
def revoke_feed(ask: Ask) -> int:
    """Revoke a feed of the calendar: its address answers no more."""
    return ask.shown(lambda found: write(console(), f"revoked {found['name']} ({found['feed_id']})"))


def _show_feeds(found: list[dict[str, Any]]) -> None:
    if not found:
        write(console(), "No feeds: sexton calendar add-feed makes one.", "dim")
        return
    table = Table("feed", "name", "of", "made by", "state", elastic=("name", "made by"))
    for each in found:
        of = ", ".join(each["kinds"]) + (f" with {each['label']}" if each["label"] else "")
        state = "revoked" if each["revoked_at"] else "open"
        style = "dim" if each["revoked_at"] else ""
        table.add(each["feed_id"], each["name"], of, each["created_by"], state, style=style)
    table.print(console())
