"""Counts for people: exact up to a bound, beyond that what PostgreSQL's planner expects."""

from __future__ import annotations

from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.postgres.transaction import Context
from sexton.refusal import about

MOST_EXACT = 10_000


class Total(msgspec.Struct, frozen=True):
    """How many rows there are."""

    count: Annotated[int, about("How many.")]
    estimated: Annotated[bool, about("True past 10,000: it is an estimate then.")] = False

    def headers(self) -> dict[str, str]:
        """The headers of a list, with the number of all its rows."""
        shown = {"Sexton-Total": str(self.count)}
        return {**shown, "Sexton-Total-Estimated": "true"} if self.estimated else shown


async def total(context: Context, statement: str, *, bound: str = "most", **parameters: Any) -> Total:
    """How many rows a statement returns. Its parameter `bound` bounds how many it reads. Call it inside a
    query."""
    async with context.planned_anew():
        most = {bound: MOST_EXACT + 1}
        count: int = (await figures(context, "count(*) as found", statement, **most, **parameters))["found"]
        if count <= MOST_EXACT:
            return Total(count)
        rows = await expected(context, statement, **{bound: None}, **parameters)
        return Total(max(count, rows), estimated=True)


async def figures(context: Context, columns: str, statement: str, **parameters: Any) -> asyncpg.Record:
    """One row of figures over the rows of a statement, such as `count(*) as found`. Call it where statements
    are `planned_anew`."""
    text, arguments = context.prepared(statement, **parameters)
    row = await context.open.fetchrow(f"select {columns} from ({text}) as counted", *arguments)
    assert row is not None
    return row


async def expected(context: Context, statement: str, **parameters: Any) -> int:
    """How many rows the planner expects of a statement. Call it where statements are `planned_anew`."""
    text, arguments = context.prepared(statement, **parameters)
    plan = await context.open.fetchval(f"explain (format json) {text}", *arguments)
    return int(msgspec.json.decode(plan)[0]["Plan"]["Plan Rows"])
