"""Campaigns as entries of the agenda: each at its instant, or at its local time in its own zone."""

from __future__ import annotations

from datetime import datetime

from sexton.jobs.moment import local_iso
from sexton.model import encode_id
from sexton.notifications.campaigns.spec import WhenPast
from sexton.notifications.campaigns.timing import EARLIEST, LATEST, due_in_zone
from sexton.notifications.model import CAMPAIGN
from sexton.postgres.transaction import Context, query
from sexton.runs.agenda import AgendaEntry

MOST_CAMPAIGNS = 500
# The statuses of a campaign before it sends.
PLANNED = ("scheduled", "preparing", "prepared")


@query
async def list_campaign_times(context: Context, start: datetime, end: datetime) -> list[AgendaEntry]:
    """The campaigns in order of time. A local time of the recipients is shown in the zone of the campaign."""
    rows = await context.fetch(
        "campaigns/list_between",
        start=start,
        end=end,
        first=(start - LATEST).replace(tzinfo=None),
        last=(end + EARLIEST).replace(tzinfo=None),
        limit=MOST_CAMPAIGNS,
    )
    found = []
    for row in rows:
        at = row["send_at"]
        if at is None:
            armed_at = row["armed_at"] or start
            at = due_in_zone(row["timezone"], row["local_time"], WhenPast(row["when_past"]), armed_at).at
        if at is None or not start <= at < end:
            continue
        found.append(
            AgendaEntry(
                kind="campaign",
                at=at,
                local=local_iso(at, row["timezone"]) or at.isoformat(),
                timezone=row["timezone"],
                title=row["name"],
                id=encode_id(CAMPAIGN, row["id"]),
                status="upcoming" if row["status"] in PLANNED else row["status"],
            )
        )
    return sorted(found, key=lambda each: each.at)
