"""How far back to look for runs that no index finds: late ones, and those of a queue or a worker.

A list of them reads what was recorded, the latest first, up to a bound, and ends there with a page that may
not be full and a cursor to go on from. What was counted by minute says where that is, and for late runs how
far back there are as many as are wanted, so no page reads millions of rows to find a few.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sexton.postgres.transaction import Context
from sexton.runs.activity import LATE, MINUTE
from sexton.runs.filter import RunFilter

# Rows that are read for a page: of late runs most are left out before anything else is looked up.
MOST_READ, MOST_READ_LATE = 12_000, 150_000
# How far a page goes back behind what is counted.
UNCOUNTED = timedelta(hours=6)


async def reach(
    context: Context, chosen: RunFilter, earliest: datetime, last: datetime, limit: int
) -> datetime:
    """From when on to look for a page of these runs that ends at `last`; not before `earliest`."""
    through: datetime | None = await context.fetchval("activity/counted_through")
    if through is None:
        return earliest
    end = min(last, through)
    begin = max(earliest, end - timedelta(days=1))
    rows = await context.fetch(
        "activity/reach", first=begin.replace(second=0, microsecond=0), last=end, late_step=LATE
    )
    most = MOST_READ_LATE if chosen.late else MOST_READ
    read = late = 0
    for row in rows:
        read += row["runs"]
        late += row["late"]
        # The newest minute may hold runs that are later than the page.
        if read >= most or (chosen.late and late >= limit and row["minute"] + MINUTE < end):
            minute: datetime = row["minute"]
            return max(earliest, minute)
    return begin if rows else max(earliest, begin - UNCOUNTED)
