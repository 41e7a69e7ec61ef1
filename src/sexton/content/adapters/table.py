"""The table of kinds of adapter.

Sexton's own are listed here. Installed packages add theirs by entry points of the group `sexton.content`, and
the setting `adapters` names others by their dotted paths. A loaded kind stays loaded.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any

from sexton.config import Settings
from sexton.content.adapters.base import Adapter, NoConfig
from sexton.errors import InvalidField

log = logging.getLogger("sexton")

GROUP = "sexton.content"
# By path, so that processes without actions do not import HTTP clients.
BUILT_IN = {
    "builtin": "sexton.content.adapters.builtin:BuiltinAdapter",
    "http": "sexton.content.adapters.http_adapter:HttpAdapter",
    "wordpress": "sexton.content.adapters.wordpress:WordPressAdapter",
}


@cache
def adapters() -> dict[str, type[Adapter]]:
    """All kinds of adapter of this process, by name."""
    table: dict[str, type[Adapter]] = {name: resolve_name(path) for name, path in BUILT_IN.items()}
    for entry in entry_points(group=GROUP):
        try:
            _add(table, entry.name, entry.load())
        except Exception:
            # A broken package must not disable other adapters.
            log.exception("the adapter %s of the entry point %s cannot be loaded", entry.value, entry.name)
    return table


def make_plain(name: str) -> Adapter | None:
    """An adapter that is used under the name of its kind; None if its kind must be configured."""
    kind = adapters().get(name)
    return kind(NoConfig(), None) if kind is not None and kind.config is NoConfig else None


def load_adapters(settings: Settings) -> None:
    """Add the kinds that the setting `adapters` names. `InvalidField` names one that cannot be loaded."""
    for name, path in settings.adapter_paths().items():
        try:
            _add(adapters(), name, resolve_name(path))
        except Exception as error:
            raise InvalidField(
                "bad_config",
                f"the adapter {path} cannot be loaded: {error}",
                field="adapters",
                hint="write name=package.module:Name of a subclass of sexton.content.adapters.base.Adapter",
            ) from error


def _add(table: dict[str, type[Adapter]], name: str, found: Any) -> None:
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise TypeError(f"{found!r} is not a subclass of Adapter")
    if table.setdefault(name, found) is not found:
        raise ValueError(f"there is another kind of adapter {name}")
