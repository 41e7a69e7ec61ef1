"""The table of adapters. Installed packages add theirs by entry points of the group `sexton.content`."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import entry_points

from sexton.content.adapters.base import Adapter
from sexton.content.adapters.builtin import BuiltinAdapter
from sexton.errors import InvalidField

log = logging.getLogger("sexton")

GROUP = "sexton.content"
BUILT_IN: dict[str, type[Adapter]] = {"builtin": BuiltinAdapter}


@cache
def adapters() -> dict[str, type[Adapter]]:
    """Every adapter that this process knows, by name."""
    table = dict(BUILT_IN)
    for entry in entry_points(group=GROUP):
        try:
            found = entry.load()
        except Exception:
            # A broken package must not keep the adapters of others from working.
            log.exception("the adapter %s of the entry point %s cannot be loaded", entry.value, entry.name)
            continue
        table.setdefault(entry.name, found)
    return table


def check_adapter(name: str) -> str:
    if name not in adapters():
        raise InvalidField(
            "bad_value",
            f"there is no adapter {name}",
            field="adapter",
            hint=f"use {', '.join(sorted(adapters()))}",
        )
    return name
