"""`check` and `preview` compute what a campaign would do before its messages are created. They create
nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import asyncpg
import msgspec

from sexton import clock
from sexton.clock import iso
from sexton.notifications.campaigns.audience import CHUNK, Member, find_list, found_by, get_segment
from sexton.notifications.campaigns.campaign import columns_of
from sexton.notifications.campaigns.expansion import ZoneTimes
from sexton.notifications.campaigns.segment_filter import compile_filter
from sexton.notifications.campaigns.spec import CampaignSpec
from sexton.notifications.campaigns.view import CampaignCheck, check_of, view
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context, query

SLICE = 50_000
#: The most members of an audience that are examined.
MOST_LOOKED_AT = 1_000_000
#: After so long no further slice is examined: a filter may take long for each recipient.
LOOK_SECONDS = 15.0
SUMMED = ("total", "duplicates", "incomplete", "unreachable", "unknown")


@query
async def check_campaign(context: Context, number: int) -> CampaignCheck:
    """The findings from the creation of its messages; before that, what the creation would find now."""
    shown = await view(context, number)
    if shown.check is not None:
        return shown.check
    [row] = await context.fetch("campaigns/get", campaign_id=number)
    return await _look(context, row)


@query
async def preview_campaign(context: Context, spec: CampaignSpec, *, may_query: bool = False) -> CampaignCheck:
    """What a campaign would do if it were created and started now. Creates nothing."""
    row = await columns_of(context, spec, may_query=may_query)
    return await _look(context, {**row, "audience_id": None, "armed_at": row["now"]})


async def _look(context: Context, row: Mapping[str, Any] | asyncpg.Record) -> CampaignCheck:
    statement, named = await _audience(context, row)
    sums: dict[str, Any] = dict.fromkeys(SUMMED, 0)
    zones: dict[str, int] = {}
    reached, looked_at, whole = 0, 0, False
    until = clock.monotonic() + LOOK_SECONDS
    while looked_at < MOST_LOOKED_AT and not whole:
        [found] = await context.fetch(
            statement,
            after=reached,
            limit=SLICE,
            timezone=row["timezone"],
            needed=row["needed"],
            channels=row["channels"],
            topic=row["topic"],
            **named,
        )
        for name in SUMMED:
            sums[name] += found[name]
        for name, count in msgspec.json.decode(found["zones"] or "{}").items():
            zones[name] = zones.get(name, 0) + count
        reached, looked_at = found["reached"], looked_at + found["looked_at"]
        whole = found["looked_at"] < SLICE
        if clock.monotonic() >= until:
            break
    armed = {"armed_at": row["armed_at"] or row["now"]}
    times = ZoneTimes({**dict(row), **armed})
    times.learn(zones)
    told = {
        name: [None if (time := times.times[name]).at is None else iso(time.at), count, time.note]
        for name, count in zones.items()
    }
    skipped = sum(count for name, count in zones.items() if times.times[name].at is None)
    return check_of({**sums, "skipped": skipped, "needed": row["needed"]}, told, whole=whole)


async def _audience(context: Context, row: Mapping[str, Any] | asyncpg.Record) -> tuple[str, dict[str, Any]]:
    asked = msgspec.json.decode(row["audience"])
    if asked.get("list") is not None:
        found = await find_list(context, asked["list"])
        return "campaigns/check_list", {"audience_id": found["id"]}
    if row["audience_id"] is not None:
        return "campaigns/check_list", {"audience_id": row["audience_id"]}
    if asked.get("user_ids") is not None:  # not kept yet
        ids = asked["user_ids"]
        return "campaigns/check_found", {"user_ids": ids, "vars": [None] * len(ids)}
    if asked.get("sql") is not None:
        members: list[Member] = []
        async for chunk in found_by(context, asked["sql"], most=20 * CHUNK):
            members += chunk
        return "campaigns/check_found", {
            "user_ids": [user_id for user_id, _ in members],
            "vars": [None if not own else json_text(own) for _, own in members],
        }
    path = row["filter"]
    if asked.get("segment") is not None:
        path = compile_filter((await get_segment(context, asked["segment"])).filter)
    return "campaigns/check_filter", {"filter": path}
