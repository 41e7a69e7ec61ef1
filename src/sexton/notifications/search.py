"""Search campaigns and templates by free text: an id, a part of a campaign's name, the beginning of a
template's id."""

from __future__ import annotations

from sexton.jobs.filter import pattern_of
from sexton.model import decode_id, encode_id
from sexton.notifications.model import CAMPAIGN
from sexton.postgres.transaction import Context, query
from sexton.runs.search import Found


@query
async def search_notifications(context: Context, text: str, limit: int) -> list[Found]:
    """Campaigns, the latest first, then templates."""
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
    return found[:limit]
