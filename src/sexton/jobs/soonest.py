"""Jobs in the order in which they fire next.

An index on the times of all timers would slow down every firing. So a page is merged from the next timers of
each shard, for which firing has an index. If the filter selects few jobs, they are read first and sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from sexton.postgres.database import LOCALLY_BY_KEY
from sexton.postgres.estimate import expected
from sexton.postgres.transaction import Context

# The timers that one statement reads: the first ones of the shards (ROWS). If more timers are due at one
# instant, it reads them in the order of their jobs: WALK at first, LONGEST_WALK at most.
ROWS = 5_000
WALK = 1_000
LONGEST_WALK = 64_000
# If the planner expects no more jobs than this, they are sorted.
MOST_SORTED = 20_000
# If this many timers do not fill a page, the filter selects few jobs.
MOST_SEEN = 2 * ROWS
TICK = timedelta(microseconds=1)


async def soonest(
    context: Context, due_at: datetime | None, after: int, filters: Mapping[str, Any]
) -> list[asyncpg.Record]:
    """The next jobs after this time and id, at most the `limit` of the filters. A time of None means the
    paused jobs."""
    meant = {name: value for name, value in filters.items() if name != "limit"}
    async with context.planned_anew():
        few = await expected(context, "jobs/list_matching", most=None, **meant) <= MOST_SORTED
    found = None if few else await _from_timers(context, due_at, after, filters)
    if found is None:
        async with context.planned_anew():
            found = await context.fetch("jobs/list_by_next_run", due_at=due_at, after=after, **filters)
    return found


async def _from_timers(
    context: Context, due_at: datetime | None, after: int, filters: Mapping[str, Any]
) -> list[asyncpg.Record] | None:
    """Reads the timers in order. None if the filter selects too few of them."""
    found: dict[int, asyncpg.Record] = {}
    seen, walk = 0, WALK
    async with context.open.transaction():
        await context.open.execute(LOCALLY_BY_KEY)
        while seen < MOST_SEEN:
            rows = await context.fetch(
                "jobs/list_soonest", due_at=due_at, after=after, rows=ROWS, walk=walk, **filters
            )
            for row in rows:
                if row["id"] is not None:
                    found.setdefault(row["id"], row)  # a timer that has moved appears again
            last = rows[0]
            seen += last["seen"]
            done = not last["more"] or (last["cut_at"] is None and last["walked_to"] is None)
            if len(found) >= filters["limit"] or done:
                return list(found.values())[: filters["limit"]]
            if last["walked_to"] is not None:
                due_at, after = last["cut_at"], last["walked_to"]
                walk = min(8 * walk, LONGEST_WALK)
            else:
                due_at, after = last["cut_at"] + TICK, 0
    return None
