"""Search over HTTP: in everything that the namespace has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from sexton.api.console import routes
from sexton.api.console.agenda import PRODUCTS
from sexton.api.console.routes import SearchQuery
from sexton.api.operation import Answer, Call, operation
from sexton.content.search import search_content
from sexton.notifications.search import search_notifications
from sexton.runs.search import Found
from sexton.runs.search import search as search_engine

FOUND = {
    "kind": "job", "id": "j_4x", "title": "send-weekly-report", "subtitle": "0 9 * * 1 America/New_York",
    "status": "active", "namespace": "default",
}  # fmt: skip


@operation(routes.SEARCH, lists=True, answer=list[Found], errors=(422,), answer_example=[FOUND])
async def search(call: Call) -> Answer:
    """Runs, jobs, campaigns, messages, releases and planned actions by their ids, jobs by words of name,
    owner and description, entities by words of their titles, campaigns and releases by a part of their names
    and notes, queues, templates, recipients and entities by the beginning of theirs. A word that very many
    jobs have finds some of them. Jobs that carry out planned actions and campaigns come last."""
    query = call.query(SearchQuery)
    found, carrying = await search_engine(call.reading, query.q, query.limit, PRODUCTS)
    planned = await search_content(call.reading, query.q, query.limit)
    products = [*_interleaved(await search_notifications(call.reading, query.q, query.limit), planned)]
    # Very many jobs must not hide what else there is.
    room = max(query.limit - len(products), query.limit // 2)
    return Answer([*found[:room], *products, *carrying][: query.limit])


def _interleaved(*lists: list[Found]) -> Iterator[Found]:
    """The first of each, then the second: very many of one product must not hide the other."""
    for each in zip_longest(*lists):
        yield from (found for found in each if found is not None)
