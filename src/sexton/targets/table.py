"""The table of target kinds, and how a target of a job is read by it.

This module lists Sexton's own kinds. Installed packages add theirs by entry points of the group
`sexton.targets`, and the setting `targets` names others by their dotted paths. The table belongs to the
process, like its modules: a loaded kind stays.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from shlex import quote
from typing import TYPE_CHECKING, Any

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.refusal import converted, unknown_field
from sexton.targets.base import OpenKind, Target, TargetKind, TargetServices, lane_name
from sexton.targets.celery.kind import CeleryKind
from sexton.targets.handler import Handler, HandlerKind
from sexton.targets.http.kind import HttpKind
from sexton.targets.message.kind import MessageKind
from sexton.targets.providers import Providers, Resources
from sexton.targets.shell.kind import ShellKind

if TYPE_CHECKING:
    from sexton.postgres.database import Database
    from sexton.targets.http.outbound import Outbound

log = logging.getLogger("sexton")

GROUP = "sexton.targets"
BUILT_IN: tuple[TargetKind[Any], ...] = (
    HandlerKind(),
    HttpKind(),
    MessageKind(),
    CeleryKind(),
    ShellKind(),
)
NO_HANDLERS: Mapping[str, Handler] = {}

# The fields of the payload for the templates of a dead_letter_target.
LETTER = dict.fromkeys(
    ("run_id", "job_id", "job_name", "died_at", "reason", "error", "error_group", "scheduled_at", "trigger",
     "missed", "attempt", "idempotency_key", "parent_run", "payload"),
    "",
)  # fmt: skip


def kinds() -> Mapping[str, TargetKind[Any]]:
    """Every kind that this process knows, by name."""
    return _table()


def load_kinds(settings: Settings) -> None:
    """Add the kinds that the setting `targets` names. Raises `InvalidField` for one that cannot be loaded."""
    for path in settings.target_paths():
        try:
            _add(_table(), resolve_name(path))
        except Exception as error:
            raise InvalidField(
                "bad_config",
                f"the target kind {path} cannot be loaded: {error}",
                field="targets",
                hint="write package.module:Name of a subclass of sexton.targets.base.TargetKind",
            ) from error
    for kind in _table().values():
        kind.configure(settings)


def load_needs(needs: Iterable[tuple[str, str]]) -> None:
    """Import what runs with these needs take; each is a kind and what of its kind."""
    for name, need in needs:
        try:
            _table()[name].load(need)
        except Exception:
            # The runs of one kind must not keep those of others from being carried out.
            log.exception("cannot import what runs of %s need", lane_name(name, need))


@cache
def _table() -> dict[str, TargetKind[Any]]:
    table = {kind.name: kind for kind in BUILT_IN}
    for entry in entry_points(group=GROUP):
        try:
            _add(table, entry.load())
        except Exception:
            # The kinds of one broken package must not keep those of others from working.
            log.exception(
                "the target kind %s of the entry point %s cannot be loaded", entry.value, entry.name
            )
    return table


def _add(table: dict[str, TargetKind[Any]], found: Any) -> None:
    kind = found() if isinstance(found, type) else found
    if not isinstance(kind, TargetKind):
        raise TypeError(f"{found!r} is not a TargetKind")
    if type(table.setdefault(kind.name, kind)) is not type(kind):
        raise ValueError(f"there is another target kind {kind.name}")


def read_target(data: Mapping[str, Any], field: str = "target") -> Target:
    """A target from its JSON: an object with exactly one key, the name of its kind."""
    known = kinds()
    for name in data:
        if name not in known:
            raise unknown_field(name, list(known), under=field)
    given = {name: value for name, value in data.items() if value is not None}
    if len(given) != 1:
        what = f"both {' and '.join(given)}" if given else f"none of {', '.join(known)}"
        raise InvalidField("bad_target", f"the target has {what}", field=field, hint=hint_of())
    [(name, value)] = given.items()
    return Target(known[name], converted(value, known[name].spec, under=f"{field}.{name}"))


def check_target(data: Mapping[str, Any], payload: Any, field: str = "target") -> Target:
    """A target that can be carried out. What would make its runs fail at night is refused."""
    return _checked(read_target(data, field), payload, field)


def check_dead_letter_target(data: Mapping[str, Any], field: str = "dead_letter_target") -> Target:
    """A target that takes dead letters, and says at once whether it has one."""
    target = read_target(data, field)
    if not target.kind.takes_dead_letters:
        raise InvalidField(
            "bad_target",
            f"dead letters are not sent to a {target.kind.name}",
            field=field,
            hint=hint_of(dead_letters=True),
        )
    target.kind.check_letters(target.spec, f"{field}.{target.kind.name}")
    return _checked(target, LETTER, field)


def _checked(target: Target, payload: Any, field: str) -> Target:
    target.kind.check(target.spec, payload, f"{field}.{target.kind.name}")
    return target


def hint_of(*, dead_letters: bool = False) -> str:
    """What a target looks like, by an example of each kind."""
    examples = [
        json.dumps({name: kind.example}, ensure_ascii=False)
        for name, kind in kinds().items()
        if kind.takes_dead_letters or not dead_letters
    ]
    return f"write {', '.join(examples[:-1])} or {examples[-1]}"


def how_to_serve(kind: str, need: str) -> str:
    """What to do where no worker serves a lane."""
    known = kinds().get(kind)
    return "start one that knows it" if known is None else known.how_to_serve.format(need=quote(need))


def harmless_kinds() -> list[str]:
    """The kinds whose runs cannot end the process of a worker."""
    return [name for name, kind in kinds().items() if kind.harmless]


def served(settings: Settings) -> list[str]:
    """The lanes that a worker may claim from, beside those of its handlers."""
    load_kinds(settings)
    return [lane_name(name, need) for name, kind in kinds().items() for need in kind.served(settings)]


def open_kinds(services: TargetServices) -> dict[str, OpenKind]:
    """All kinds, ready to carry runs out. Close them before `services.outbound`, which is the caller's."""
    load_kinds(services.settings)
    return {name: kind.open(services) for name, kind in kinds().items()}


def make_services(
    database: Database,
    settings: Settings,
    outbound: Outbound,
    handlers: Mapping[str, Handler] = NO_HANDLERS,
    resources: Resources | None = None,
) -> TargetServices:
    from sexton.security.secrets import Secrets
    from sexton.targets.renderer import Renderer

    renderer = Renderer(database, Secrets(database, settings))
    return TargetServices(
        settings, database, outbound, renderer, handlers, resources or Resources(Providers())
    )
