"""`sexton content adapters` and `notices`: where content lives, and where notices about it go."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.content import routes
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import short_time, show_fields


@command(routes.LIST_ADAPTERS)
def adapters(
    ask: Ask,
    adapter: Annotated[str | None, Parameter(help="The adapter to show, such as blog. Default: all.")] = None,
    /,
) -> int:
    """List the adapters that were configured, or show one."""
    if adapter is None:
        return ask.shown(_show_adapters)
    return replace(ask, route=routes.GET_ADAPTER, path=(adapter,)).shown(_show_adapter)


@command(routes.PUT_ADAPTER)
def set_adapter(ask: Ask) -> int:
    """Configure an adapter, or change its configuration.

    sexton content set-adapter blog --kind wordpress --config @blog.json
    """
    return ask.shown(_show_adapter)


@command(routes.DELETE_ADAPTER)
def remove_adapter(ask: Ask) -> int:
    """Remove an adapter: actions planned with it fail."""
    return ask.shown(lambda _: write(console(), f"removed {ask.path[0]}"))


@command(routes.SET_NOTICES, names={"events": "--event"})
def set_notices(ask: Ask) -> int:
    """Send signed webhooks with the results of actions on content.

    sexton content set-notices --url https://hooks.example/content --event failed
    """
    return ask.shown(show_notices)


def _show_adapters(found: list[dict[str, Any]]) -> None:
    table = Table("adapter", "kind", "address", "changed", "by", elastic=("address", "by"), spare=("by",))
    for each in found:
        address = str(each["config"].get("url") or "-")
        table.add(each["name"], each["kind"], address, short_time(each["changed_at"]), each["changed_by"])
    table.print(none="No adapters but builtin: sexton content set-adapter configures one.")


def _show_adapter(found: dict[str, Any]) -> None:
    show_fields(console(), found.items())


def show_notices(found: dict[str, Any]) -> None:
    if found["url"] is None:
        write(console(), "No notices are sent: sexton content set-notices --url says where to.", "dim")
        return
    show_fields(console(), [*found.items(), ("runs", f"sexton runs list --job {found['job_id']}")])
