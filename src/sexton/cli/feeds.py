"""Feeds as the command line shows them: those of content and those of the whole calendar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sexton.cli.command import Ask
from sexton.cli.output import Table, console, write


def show_list(found: list[dict[str, Any]], group: str, of: Callable[[dict[str, Any]], str]) -> None:
    """`of` says what a feed shows; `group` names the commands that make one."""
    if not found:
        write(console(), f"No feeds: sexton {group} add-feed makes one.", "dim")
        return
    table = Table("feed", "name", "of", "made by", "state", elastic=("name", "made by"))
    for each in found:
        state, style = ("revoked", "dim") if each["revoked_at"] else ("open", "")
        table.add(each["feed_id"], each["name"], of(each), each["created_by"], state, style=style)
    table.print(console())


def make(ask: Ask) -> int:
    def view(found: dict[str, Any]) -> None:
        out = console()
        write(out, f"{found['name']} ({found['feed_id']})")
        write(out, f"{ask.client.url}{found['path']}")
        write(console(error=True), "Who has this address may read the calendar. It is shown this once.")

    return ask.shown(view)


def revoke(ask: Ask) -> int:
    return ask.shown(lambda found: write(console(), f"revoked {found['name']} ({found['feed_id']})"))
