"""Search notifications by free text: a campaign by its id or a part of its name, a template or a recipient by
the beginning of its id, a message by its id."""

from __future__ import annotations

from sexton.jobs.filter import pattern_of
from sexton.model import decode_id, encode_id
from sexton.notifications.model import CAMPAIGN, MESSAGE
from sexton.postgres.transaction import Context, query
from sexton.runs.search import Found


@query
async def search_notifications(context: Context, text: str, limit: int) -> list[Found]:
    """Campaigns, the latest first, then templates, a message and recipients."""
    campaigns = await context.fetch(
        "campaigns/search", number=decode_id(CAMPAIGN, text), pattern=f"%{pattern_of(text)}", limit=limit
    )
    templates = await context.fetch("templates/search", pattern=pattern_of(text), limit=limit)
    found = [
        Found(
            kind="campaign",
            id=encode_id(CAMPAIGN, row["id"]),
            title=row["name"],
            subtitle=row["template_id"],
            status=row["status"],
            namespace=context.namespace,
        )
        for row in campaigns
    ]
    found += [
        Found(
            kind="template",
            id=row["template_id"],
            title=row["template_id"],
            subtitle=f"version {row['version']}",
            namespace=context.namespace,
        )
        for row in templates
    ]
    found += await _message(context, text)
    found += [
        Found(kind="recipient", id=row["user_id"], title=row["user_id"], namespace=context.namespace)
        for row in await context.fetch("recipients/search", pattern=pattern_of(text), limit=limit)
    ]
    return found[:limit]


async def _message(context: Context, text: str) -> list[Found]:
    number = decode_id(MESSAGE, text)
    row = None if number is None else await context.fetchrow("messages/get", message_id=number)
    if row is None:
        return []
    return [
        Found(
            kind="message",
            id=text,
            title=text,
            subtitle=row["user_id"],
            status=row["status"],
            namespace=context.namespace,
        )
    ]
