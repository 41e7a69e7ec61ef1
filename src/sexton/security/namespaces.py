"""Namespaces: each has its own jobs, queues, runs, secrets and keys, and sees nothing of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.postgres.transaction import Context, command
from sexton.refusal import about, not_found
from sexton.security.namespace_spec import NamespaceSpec

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class NamespaceView(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace."""

    name: Annotated[str, about("Its name.")]
    description: Annotated[str | None, about("For people.")]
    created_at: Annotated[datetime, about("When it was made.")]


@command
async def create_namespace(context: Context, spec: NamespaceSpec) -> NamespaceView:
    if not NAME.fullmatch(spec.name):
        raise InvalidField(
            "bad_name",
            f"{spec.name!r} cannot be the name of a namespace",
            field="name",
            hint="use lower-case letters, digits and hyphens, at most 63, such as billing",
        )
    row = await context.fetchrow(
        "access/create_namespace", name=spec.name, description=spec.description, now=context.now
    )
    if row is None:
        raise Conflict(
            "namespace_exists", f"there is a namespace {spec.name} already", hint="choose another name"
        )
    return NamespaceView(name=row["name"], description=row["description"], created_at=row["created_at"])


async def list_namespaces(context: Context, only: Iterable[str] | None = None) -> list[NamespaceView]:
    """Those that there are, or `only` some of them."""
    rows = await context.fetch("access/list_namespaces", names=None if only is None else list(only))
    return [NamespaceView(**row) for row in rows]


async def get_namespace(context: Context, name: str) -> NamespaceView:
    found = await list_namespaces(context, [name])
    if not found:
        raise not_found("namespace", name)
    return found[0]
