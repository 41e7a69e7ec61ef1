"""Calendar feeds of content and of the whole calendar, as the command line shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sexton.cli.command import Ask
from sexton.cli.output import Table, console, write


def show_list(found: list[dict[str, Any]], group: str, of: Callable[[dict[str, Any]], str]) -> None:
    """`of` says what a feed shows; `group` is the group of commands that make one."""
    table = Table("feed", "name", "of", "made by", "state", elastic=("name", "made by"))
    for each in found:
        state, style = ("revoked", "dim") if each["revoked_at"] else ("open", "")
        table.add(each["feed_id"], each["name"], of(each), each["created_by"], state, style=style)
    table.print(none=f"No feeds: sexton {group} add-feed makes one.")


def make(ask: Ask) -> int:
    def view(found: dict[str, Any]) -> None:
        out = console()
        write(out, f"{found['name']} ({found['feed_id']})")
        write(out, f"{ask.client.url}{found['path']}")
        write(console(error=True), "Anyone with this address may read the calendar. It is shown only once.")

    return ask.shown(view)


def show_revoked(found: dict[str, Any]) -> None:
    write(console(), f"revoked {found['name']} ({found['feed_id']})")
