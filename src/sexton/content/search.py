"""Search content by free text: `post/42`, the beginning of an id, a release or a planned action."""

from __future__ import annotations

from sexton.content.model import RELEASE, Entity
from sexton.content.read import view
from sexton.errors import NotFound
from sexton.jobs.filter import pattern_of
from sexton.model import decode_id
from sexton.postgres.transaction import Context, query
from sexton.runs.search import Found


@query
async def search_content(context: Context, text: str, limit: int) -> list[Found]:
    """Entities, releases and planned actions; a planned action is shown as its entity."""
    found = await _release(context, text) + await _action(context, text)
    kind, slash, entity = text.rpartition("/")
    rows = await context.fetch(
        "content/search", entity_type=kind if slash else None, pattern=pattern_of(entity), limit=limit
    )
    found += [_entity(context, str(Entity.of(row)), status=row["state"]) for row in rows]
    return found[:limit]


async def _release(context: Context, text: str) -> list[Found]:
    number = decode_id(RELEASE, text)
    if number is None:
        return []
    row = await context.fetchrow("content/search_release", release_id=number)
    if row is None:
        return []
    title = row["note"] or f"release of {row['created_by']}"
    return [Found(kind="release", id=text, title=title, subtitle=text, namespace=context.namespace)]


async def _action(context: Context, text: str) -> list[Found]:
    number = decode_id("c", text)
    if number is None:
        return []
    try:
        plan = await view(context, number)
    except NotFound:
        return []
    return [_entity(context, plan.content_id, status=plan.status, subtitle=f"{plan.action} {text}")]


def _entity(context: Context, name: str, *, status: str | None, subtitle: str | None = None) -> Found:
    namespace = context.namespace
    return Found(kind="entity", id=name, title=name, subtitle=subtitle, status=status, namespace=namespace)
