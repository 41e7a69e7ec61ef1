"""Pages of lists that say how many rows there are in all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from sexton.api.operation import Answer, Call
from sexton.api.route import Query
from sexton.postgres.estimate import Total
from sexton.postgres.page import Page


async def counted(
    call: Call, page: Page[Any], count: Callable[..., Awaitable[Total | None]], query: type[Query]
) -> Answer:
    """A page of a list. The first one says how many rows there are in all, unless `count`, which takes the
    filters, does not know."""
    chosen = call.filters(query)
    if chosen.pop("cursor") is not None:
        return call.paged(page)
    for name in ("limit", "sort"):
        chosen.pop(name)
    total: Total | None = (
        Total(len(page.items)) if page.cursor is None else await count(call.reading, **chosen)
    )
    return call.paged(page, headers_of(total))


def headers_of(total: Total | None) -> dict[str, str]:
    """The headers with the number of all rows of a list, if it is known."""
    return {} if total is None else total.headers()
