"""Search content by free text: words of a title, `post/42` or the beginning of it, a release by its id or a
part of its note, a planned action."""

from __future__ import annotations

from sexton.content.model import RELEASE, Entity
from sexton.content.read import view
from sexton.errors import NotFound
from sexton.jobs.filter import pattern_of
from sexton.model import decode_id, encode_id
from sexton.postgres.transaction import Context, query
from sexton.runs.search import Found, rows_with_words


@query
async def search_content(context: Context, text: str, limit: int) -> list[Found]:
    """Entities, releases and planned actions; a planned action is shown as its entity."""
    found = await _action(context, text) + await _entities(context, text, limit)
    return [*found, *await _releases(context, text, limit)][:limit]


async def _entities(context: Context, text: str, limit: int) -> list[Found]:
    """By the beginnings of their ids, then by words of their titles."""
    kind, slash, entity = text.rpartition("/")
    rows = await context.fetch(
        "content/search", entity_type=kind if slash else None, pattern=pattern_of(entity), limit=limit
    )
    named = {str(Entity.of(row)): row for row in rows}
    types = [row["entity_type"] for row in named.values()]
    ids = [row["entity_id"] for row in named.values()]
    titles = {
        str(Entity.of(row)): row["title"]
        for row in await context.fetch("content/list_titles", types=types, ids=ids)
    }
    mine = f"{context.namespace}/"
    for row in await rows_with_words(context, "content/search_titles", text, before=mine, limit=limit):
        named.setdefault(str(Entity.of(row)), row)
        titles[str(Entity.of(row))] = row["title"]
    return [
        _entity(context, name, title=titles.get(name), status=row["state"]) for name, row in named.items()
    ]


async def _releases(context: Context, text: str, limit: int) -> list[Found]:
    rows = await context.fetch(
        "content/search_releases",
        release_id=decode_id(RELEASE, text),
        pattern=f"%{pattern_of(text)}",
        limit=limit,
    )
    return [
        Found(
            kind="release",
            id=encode_id(RELEASE, row["id"]),
            title=row["note"] or f"release of {row['created_by']}",
            subtitle=encode_id(RELEASE, row["id"]),
            namespace=context.namespace,
        )
        for row in rows
    ]


async def _action(context: Context, text: str) -> list[Found]:
    number = decode_id("c", text)
    if number is None:
        return []
    try:
        plan = await view(context, number)
    except NotFound:
        return []
    return [
        _entity(context, plan.content_id, title=plan.title, status=plan.status, about=f"{plan.action} {text}")
    ]


def _entity(
    context: Context, name: str, *, title: str | None, status: str | None, about: str | None = None
) -> Found:
    """Called by its title, if it has one; its name stands beside that."""
    known = [each for each in (name if title else None, about) if each]
    return Found(
        kind="entity",
        id=name,
        title=title or name,
        subtitle=" · ".join(known) or None,
        status=status,
        namespace=context.namespace,
    )
