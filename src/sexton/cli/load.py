"""Loads commands: `sexton.cli.load` has each command of the table as an attribute, such as `jobs list`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from sexton.api.route import Route
from sexton.cli.command import Ask, command
from sexton.cli.output import console, write
from sexton.cli.remote import show_fields, warn
from sexton.cli.table import COMMANDS, GROUPS, Command

# The modules of a package with its routes, where it has more than one.
ROUTES = {"notifications": ("routes", "campaign_routes", "channel_routes", "recurring_routes")}


def __getattr__(name: str) -> Callable[..., int]:
    group, _, verb = name.partition(" ")
    found = GROUPS[group].commands.get(verb) if group in GROUPS else COMMANDS.get(name)
    if found is None:
        raise AttributeError(name)
    return load(found)


def load(found: Command) -> Callable[..., int]:
    """The function that carries a command out."""
    target, _, view = found.path.partition(" ")
    if ":" in target:
        return _function(target)
    route = route_at(target)

    def run(ask: Ask) -> int:
        return ask.shown(_function(view) if view else partial(show, path=ask.path))

    run.__doc__ = found.summary
    return command(route)(run)


def route_at(path: str) -> Route:
    """The route of a path such as `jobs.GET_JOB`."""
    package, _, name = path.partition(".")
    for module in ROUTES.get(package, ("routes",)):
        route: Route | None = getattr(import_module(f"sexton.api.{package}.{module}"), name, None)
        if route is not None:
            return route
    raise AttributeError(path)


def _function(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"sexton.cli.{module}"), name)
    return found


def show(found: Any, path: tuple[str, ...]) -> None:
    """Show an answer field by field. Without an answer, what `path` names was deleted."""
    out = console()
    if not found:
        write(out, "none" if found == [] else f"{path[-1]} is deleted")
        return
    for number, each in enumerate(found if isinstance(found, list) else [found]):
        if number:
            write(out, "")
        show_fields(out, [(name, value) for name, value in each.items() if name != "warnings"])
        warn(each)
