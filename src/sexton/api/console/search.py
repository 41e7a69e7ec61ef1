"""Search over HTTP: in everything that the namespace has."""

from __future__ import annotations

from sexton.api.console import routes
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
    """Runs, jobs, campaigns, releases and planned actions by their ids, jobs by words of name, owner and
    description, campaigns by a part of their names, queues, templates and entities by the beginning of
    theirs. A word that very many jobs have finds some of them."""
    query = call.query(SearchQuery)
    found = await search_engine(call.reading, query.q, query.limit)
    products = await search_notifications(call.reading, query.q, query.limit)
    products += await search_content(call.reading, query.q, query.limit)
    # Very many jobs must not hide what else there is.
    room = max(query.limit - len(products), query.limit // 2)
    return Answer([*found[:room], *products][: query.limit])
