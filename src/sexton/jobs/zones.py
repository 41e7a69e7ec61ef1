"""Records the clock changes of the zones that jobs are planned with.

The first job of a zone records the zone in the same transaction. When another zone database is installed,
`engine.upkeep.replanner` compares it with this record to find the timers that move.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime

from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context
from sexton.schedules.zone import Zone, zone, zone_version

# Clock changes outside these years do not matter, or follow the same rules.
FIRST = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())


async def fingerprint(of: Zone) -> str:
    """In a thread: the clock changes of a century take a while to find the first time."""
    return await asyncio.to_thread(of.fingerprint, FIRST, LAST)


def changes(of: Zone) -> str:
    """The clock changes as JSON."""
    return json_text(of.changes(FIRST, LAST))


async def note_zones(context: Context, names: Collection[str]) -> None:
    """Record the zones that are not recorded yet."""
    for row in await context.fetch("zones/list_new", names=list(names)):
        await note_zone(context, row["name"])


async def note_zone(context: Context, name: str) -> None:
    """Record a zone, unless another transaction has just done it."""
    mine = zone(name)
    await context.execute(
        "zones/note",
        name=name,
        version=zone_version(),
        fingerprint=await fingerprint(mine),
        changes=changes(mine),
    )
