"""Namespaces: each has its own jobs, queues, runs, secrets and keys, and sees nothing of the others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec
from asyncpg import Record

from sexton.errors import Conflict, InvalidField
from sexton.model import NAMESPACE_NAME
from sexton.postgres.row import from_row
from sexton.postgres.transaction import NAMESPACE, SHARED, Context, command
from sexton.refusal import about, not_found
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.quota_spec import QuotaChanges, Quotas
from sexton.security.quotas import NamespaceUse, change_quotas, get_use, quotas_of


class NamespaceView(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace."""

    name: Annotated[str, about("The name of the namespace.")]
    description: Annotated[str | None, about("A description for people.")]
    created_at: Annotated[datetime, about("When it was made.")]
    quotas: Annotated[Quotas, about("The quotas of the namespace.")] = Quotas()
    used: Annotated[
        NamespaceUse | None, about("How much of its quotas it uses. Only in the answer about one namespace.")
    ] = None


@command
async def create_namespace(context: Context, spec: NamespaceSpec) -> NamespaceView:
    if not NAMESPACE_NAME.fullmatch(spec.name):
        hint = "use lower-case letters, digits and hyphens, at most 63, such as billing"
        what = f"{spec.name!r} cannot be the name of a namespace"
        raise InvalidField("bad_name", what, field="name", hint=hint)
    row = await context.fetchrow(
        "access/create_namespace", name=spec.name, description=spec.description, now=context.now
    )
    if row is None:
        raise Conflict(
            "namespace_exists", f"there is a namespace {spec.name} already", hint="choose another name"
        )
    after = {"description": spec.description}
    context.changed("namespace.created", spec.name, spec.name, after=after, namespace=SHARED)
    return _view(row)


async def list_namespaces(context: Context, only: Iterable[str] | None = None) -> list[NamespaceView]:
    """All namespaces, or `only` some of them."""
    rows = await context.fetch("access/list_namespaces", names=None if only is None else list(only))
    return [_view(row) for row in rows]


async def get_namespace(context: Context, name: str) -> NamespaceView:
    """One namespace, with how much it uses."""
    found = await list_namespaces(context, [name])
    if not found:
        raise not_found("namespace", name)
    return msgspec.structs.replace(found[0], used=await get_use(context, name))


@command
async def change_namespace(context: Context, name: str, changes: QuotaChanges) -> NamespaceView:
    """Change some quotas of a namespace, or its description."""
    await change_quotas(context, name, changes)
    return await get_namespace(context, name)


async def require_namespace(context: Context) -> None:
    """Raises `namespace_not_found` unless the namespace of the context is there, as `default` always is."""
    if context.namespace != NAMESPACE and not await list_namespaces(context, [context.namespace]):
        name = context.namespace
        raise not_found("namespace", name, hint=f"make it: sexton namespaces create {name}")


def _view(row: Record) -> NamespaceView:
    return from_row(NamespaceView, row, quotas=quotas_of(row), used=None)
