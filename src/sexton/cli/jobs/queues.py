"""`sexton queues`: limits, pause and resume."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.jobs import routes
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import short_time, show_fields
from sexton.errors import InvalidField


@command(routes.PUT_QUEUE)
def set_(
    ask: Ask,
    *,
    unlimited: Annotated[bool, Parameter(help="Remove the limits that are not given.")] = False,
) -> int:
    """Limit a queue: runs at a time, runs per key, starts per second.

    Limits that are not given stay, unless --unlimited removes them.
    """
    if not ask.given and not unlimited:
        raise InvalidField(
            "nothing_given",
            "no limit is given",
            field="concurrency",
            hint="give --concurrency, --key-concurrency, --rate or --unlimited",
        )
    return (ask if unlimited else replace(ask, route=routes.CHANGE_QUEUE)).shown(show)


def show_all(found: list[dict[str, Any]]) -> None:
    headings = ("queue", "state", "running", "waiting", "in/s", "out/s", "at a time", "per key", "per second")
    table = Table(*headings, elastic=("queue",), spare=("per second", "per key"))
    for each in found:
        table.add(
            each["name"], "paused" if each["paused"] else "open", _shown(each["running"]),
            f"{each['waiting']:,}", f"{each['arrival_per_second']:,.1f}", f"{each['drain_per_second']:,.1f}",
            _shown(each["concurrency"]), _shown(each["key_concurrency"]),
            _shown(each["rate"]), note=each["paused_reason"], style="yellow" if each["paused"] else "",
        )  # fmt: skip
    table.print(none="No queues: the first job makes one.")


def show(found: dict[str, Any]) -> None:
    out = console()
    at = {"paused_at", "oldest_available_at"}
    fields = [
        (name, short_time(value) if name in at and value else value)
        for name, value in found.items()
        if name not in ("warnings", "paused")
    ]
    show_fields(out, [("state", "paused" if found["paused"] else "open"), *fields])
    for warning in found["warnings"]:
        write(console(error=True), warning, "yellow")


def _shown(limit: float | None) -> str:
    return "-" if limit is None else f"{limit:,g}"
