"""Lists of content over HTTP: their filters, and their pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sexton.api.operation import Answer, Call
from sexton.api.route import Query
from sexton.postgres.page import Page
from sexton.refusal import aware


def filters_of(query: Query) -> dict[str, Any]:
    """What a list is asked for, by name, its place included; instants have a zone."""
    given = {name: getattr(query, name) for name in query.__struct_fields__}
    return {
        name: aware(value, name) if isinstance(value, datetime) else value for name, value in given.items()
    }


def paged(call: Call, page: Page[Any]) -> Answer:
    return Answer(page.items, headers=call.next_link(cursor=page.cursor) if page.cursor else {})
