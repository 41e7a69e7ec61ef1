"""The configured adapters of a namespace: each has a name, a kind and the configuration of the kind.

A configuration has no passwords: it names secrets, as `${secret:name}`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.content.adapters.base import Adapter, NoConfig
from sexton.content.adapters.table import adapters
from sexton.errors import Conflict, InvalidField
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_config_name, config_text, converted, not_found

MOST_ADAPTERS = 200


class UnknownAdapter(InvalidField):
    """A namespace has no adapter of this name."""

    def __init__(self, name: str) -> None:
        ready = ", ".join(sorted(kind for kind, found in adapters().items() if not needs_config(found)))
        super().__init__(
            "bad_value",
            f"there is no adapter {name}",
            field="adapter",
            hint=f"use {ready}, or one that was configured: GET /api/v1/content/adapters lists them",
        )


class AdapterView(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter that was configured."""

    name: Annotated[str, about("The name: the `adapter` of planned actions.")]
    kind: Annotated[str, about("The kind.")]
    config: Annotated[dict[str, Any], about("Its configuration.")]
    revision: Annotated[int, about("Grows with every change.")]
    changed_by: Annotated[str, about("Who changed it last.")]
    changed_at: Annotated[datetime, about("When it was changed last.")]


def needs_config(kind: type[Adapter]) -> bool:
    return kind.config is not NoConfig


def read_config(kind: str, config: Any) -> Any:
    """Convert a configuration to the type of its kind, or raise `InvalidField`."""
    return converted(config, adapters()[kind].config, under="config")


@command
async def put_adapter(context: Context, name: str, spec: AdapterSpec) -> AdapterView:
    """Configure an adapter, or change its configuration. The next action uses it."""
    _check_name(name)
    _check_kind(spec.kind)
    text = config_text(spec.config)
    read_config(spec.kind, spec.config)
    before = await _find(context, name)
    if before is None:
        await _check_room(context)
    elif before.kind != spec.kind:
        raise Conflict(
            "other_kind",
            f"{name} is a {before.kind}; planned actions wait for workers of that kind",
            hint="choose another name for the new adapter",
        )
    await context.execute("adapters/set", name=name, kind=spec.kind, config=text)
    saved = await get_adapter(context, name)
    context.changed(
        "content_adapter.set",
        name,
        name,
        before=None if before is None else {"kind": before.kind, "config": before.config},
        after={"kind": saved.kind, "config": saved.config},
    )
    return saved


@query
async def get_adapter(context: Context, name: str) -> AdapterView:
    found = await _find(context, name)
    if found is None:
        raise not_found("adapter", name)
    return found


@query
async def list_adapters(context: Context) -> list[AdapterView]:
    """All adapters of the namespace, by name."""
    rows = await context.fetch("adapters/list", limit=MOST_ADAPTERS)
    return list(map(_view, rows))


@command
async def delete_adapter(context: Context, name: str) -> None:
    """Delete an adapter. Actions that are planned with it fail, and are retried until it exists again."""
    before = await get_adapter(context, name)
    await context.execute("adapters/delete", name=name)
    context.changed(
        "content_adapter.deleted", name, name, before={"kind": before.kind, "config": before.config}
    )


async def content_target(context: Context, name: str) -> dict[str, Any]:
    """The target of jobs for entities of this adapter. Raises `UnknownAdapter`."""
    kind = adapters().get(name)
    if kind is not None and not needs_config(kind):
        return {"content": {"adapter": name}}
    found = await _find(context, name)
    if found is None:
        raise UnknownAdapter(name)
    return {"content": {"adapter": name, "kind": found.kind}}


async def _find(context: Context, name: str) -> AdapterView | None:
    row = await context.fetchrow("adapters/get", name=name)
    return None if row is None else _view(row)


def _view(row: asyncpg.Record) -> AdapterView:
    return AdapterView(**{**dict(row), "config": msgspec.json.decode(row["config"])})


def _check_name(name: str) -> None:
    check_config_name(name, "name", "an adapter", "blog")
    if name in adapters() and not needs_config(adapters()[name]):
        raise InvalidField("bad_name", f"{name} needs no configuration", field="name", hint="use it as it is")


def _check_kind(kind: str) -> None:
    known = sorted(name for name, found in adapters().items() if needs_config(found))
    if kind not in known:
        raise InvalidField(
            "bad_value",
            f"there is no configurable kind of adapter {kind}",
            field="kind",
            hint=f"use {', '.join(known)}" if known else "install a package that brings one",
        )


async def _check_room(context: Context) -> None:
    if len(await list_adapters(context)) >= MOST_ADAPTERS:
        raise Conflict(
            "too_many", f"the namespace has {MOST_ADAPTERS} adapters", hint="delete those that are not used"
        )
