"""Commands that show what a route answers, field by field, and say nothing else.

`plain:GET_JOB` is that of the route GET_JOB; the table of commands names it like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sexton.cli.command import Ask, command
from sexton.cli.output import console, paragraph, write
from sexton.cli.remote import show_fields

# Where the routes are, in the order in which they are looked for.
ROOMS = ("jobs", "runs", "engine", "content", "notifications", "security")


def __getattr__(name: str) -> Callable[..., int]:
    tables = (import_module(f"sexton.api.{room}.routes") for room in ROOMS)
    route = next((route for table in tables if (route := getattr(table, name, None))), None)
    if route is None:
        raise AttributeError(name)

    def plain(ask: Ask) -> int:
        return ask.shown(show)

    plain.__doc__ = f"{route.summary}."
    return command(route)(plain)


def show(found: Any) -> None:
    """What is empty is left out; warnings go to the standard error."""
    out = console()
    if not found:
        write(out, "none" if found == [] else "done")
    for number, each in enumerate(found if isinstance(found, list) else [found] if found else []):
        if number:
            write(out, "")
        show_fields(out, [(name, value) for name, value in each.items() if name != "warnings"])
        warn(each)


def warn(found: dict[str, Any]) -> None:
    for warning in found.get("warnings", []):
        paragraph(console(error=True), f"warning: {warning}", "yellow")
