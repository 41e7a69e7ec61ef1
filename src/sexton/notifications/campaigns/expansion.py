"""Creates the messages of a campaign from its audience: slice by slice, each in one statement and one
transaction.

Each slice also writes its end into the row of the campaign. A repeated run continues there, and no message is
created twice. Local times are computed here, once per zone, and never in SQL, because PostgreSQL has its own
zone database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso, whole_second
from sexton.notifications.campaigns.audience import find_list, found_by, get_segment, keep_members
from sexton.notifications.campaigns.segment_filter import compile_filter
from sexton.notifications.campaigns.spec import WhenPast
from sexton.notifications.campaigns.timing import ZoneTime, due_in_zone
from sexton.postgres.jsonb import json_or_null, json_text
from sexton.postgres.transaction import Context

SLICE = 20_000
CHUNK_SIZE = 2_000
#: A campaign with more messages than this is cut into larger chunks.
SMALL = 100_000
LARGE_CHUNK_SIZE = 5_000
WRITTEN = ("reached", "chunks", "total", "skipped", "unknown", "duplicates", "incomplete", "unreachable")


@dataclass(slots=True)
class ZoneTimes:
    """The times of a campaign, by the zones of its audience so far."""

    row: Mapping[str, Any] | asyncpg.Record
    times: dict[str, ZoneTime] = field(default_factory=dict)

    def learn(self, zones: Iterable[str]) -> None:
        row = self.row
        for name in zones:
            if row["local_time"] is None:
                self.times[name] = ZoneTime(row["send_at"] or whole_second(row["armed_at"]))
            else:
                past = WhenPast(row["when_past"])
                self.times[name] = due_in_zone(name, row["local_time"], past, row["armed_at"])


async def find_audience(context: Context, row: asyncpg.Record) -> None:
    """Fix the audience of a campaign when it begins: the present filter of the segment, the last uploaded
    list, or the result of the query as a new list."""
    asked = msgspec.json.decode(row["audience"])
    audience_id, filter_ = row["audience_id"], row["filter"]
    if asked.get("segment") is not None:
        filter_ = compile_filter((await get_segment(context, asked["segment"])).filter)
    elif asked.get("list") is not None:
        audience_id = (await find_list(context, asked["list"]))["id"]
    elif asked.get("sql") is not None and audience_id is None:
        audience_id = await keep_members(context, found_by(context, asked["sql"]))
    await context.execute(
        "campaigns/set_audience", campaign_id=row["id"], audience_id=audience_id, filter=filter_
    )


async def expand(context: Context, row: asyncpg.Record, times: ZoneTimes) -> bool:
    """Create the messages of the next slice of a locked campaign. Returns whether that was the last slice."""
    found = await write_slice(context, row, times)
    zones = msgspec.json.decode(row["zones"])
    for name, count in msgspec.json.decode(found["zones"] or "{}").items():
        time, before = times.times[name], zones[name][1] if name in zones else 0
        zones[name] = [None if time.at is None else iso(time.at), before + count, time.note]
    whole: bool = found["looked_at"] < SLICE
    await context.execute(
        "campaigns/note_slice",
        campaign_id=row["id"],
        whole=whole,
        zones=json_text(zones),
        **{name: found[name] for name in WRITTEN},
    )
    return whole


async def write_slice(context: Context, row: asyncpg.Record, times: ZoneTimes) -> asyncpg.Record:
    """Insert the messages of the next slice, and their chunks."""
    named: dict[str, Any] = {
        "campaign_id": row["id"],
        "after": row["expanded_to"],
        "limit": SLICE,
        "timezone": row["timezone"],
        "needed": row["needed"],
        "channels": row["channels"],
        "topic": row["topic"],
        "urgency": row["urgency"],
        "template_id": row["template_id"],
        "template_version": row["template_version"],
        "vars": row["vars"],
        "armed_at": row["armed_at"],
        "local_time": row["local_time"],
        "expires_seconds": row["expires_seconds"],
        "max_retries": row["max_retries"],
        "retry_seconds": row["retry_seconds"],
        "created_by": row["created_by"],
        "chunk_size": CHUNK_SIZE if row["total"] < SMALL else LARGE_CHUNK_SIZE,
        "first_number": row["chunks"],
    }
    if row["audience_id"] is None:
        statement, named["filter"] = "campaigns/expand_filter", row["filter"]
    else:
        statement, named["audience_id"] = "campaigns/expand_list", row["audience_id"]
    while True:
        known = list(times.times.items())
        [found] = await context.fetch(
            statement,
            zones=[name for name, _ in known],
            due=[time.at for _, time in known],
            timings=[json_or_null(time.note) for _, time in known],
            **named,
        )
        if found["strangers"] is None:
            return found
        times.learn(found["strangers"])


def earliest(zones: dict[str, Any]) -> datetime | None:
    """The earliest time of a campaign, from the zones in its row."""
    return min((datetime.fromisoformat(at) for at, *_ in zones.values() if at is not None), default=None)
