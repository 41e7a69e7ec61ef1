"""Named objects of a namespace, such as digests: put, get, list and delete them, with an audit entry for each
change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import asyncpg
import msgspec

from sexton.postgres.page import Page, make_page
from sexton.postgres.transaction import Context
from sexton.refusal import check_text

LONGEST_NAME = 200

View = TypeVar("View")


@dataclass(frozen=True, slots=True)
class NamedTable(Generic[View]):
    """Objects of one kind, and the statements that get, put, list and delete them."""

    noun: str
    show: Callable[[asyncpg.Record], View]
    getting: str
    putting: str
    listing: str
    deleting: str

    async def put(self, context: Context, name: str, **columns: Any) -> View:
        check_text(name, self.noun, LONGEST_NAME)
        before = await context.fetchrow(self.getting, name=name)
        await context.execute(
            self.putting, id=await context.fetchval("campaigns/take_id"), name=name, **columns
        )
        shown = self.show(await self.find(context, name))
        context.changed(
            f"{self.noun}.set",
            name,
            name,
            before=None if before is None else msgspec.to_builtins(self.show(before)),
            after=msgspec.to_builtins(shown),
        )
        return shown

    async def find(self, context: Context, name: str) -> asyncpg.Record:
        return await context.require(self.noun, name, self.getting, name=name)

    async def page(self, context: Context, cursor: str | None, limit: int) -> Page[View]:
        """A page of objects by name."""
        rows = await context.fetch(self.listing, after=cursor or "", limit=limit + 1)
        return make_page([(row["name"], self.show(row)) for row in rows], limit)

    async def delete(self, context: Context, name: str) -> None:
        row = await self.find(context, name)
        await context.execute(self.deleting, id=row["id"])
        context.changed(f"{self.noun}.deleted", name, name, before=msgspec.to_builtins(self.show(row)))
