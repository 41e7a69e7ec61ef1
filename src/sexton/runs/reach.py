"""How far back to search for runs without an index: late ones, and those of a queue or a worker.

A list of them reads history backwards up to a bound, and ends there with a page that may not be full and a
cursor. The counts by minute say where this bound is, and for late runs how far back enough of them are. So no
page reads millions of rows to find a few.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sexton.postgres.transaction import Context
from sexton.runs.activity import LATE, MINUTE
from sexton.runs.filter import RunFilter

# Rows that are read for a page. Of late runs most rows are filtered out before anything else is read.
MOST_READ, MOST_READ_LATE = 12_000, 150_000
# How far a page goes back before the first count.
UNCOUNTED = timedelta(hours=6)


async def reach(
    context: Context, chosen: RunFilter, earliest: datetime, last: datetime, limit: int
) -> datetime:
    """The start of the range to search for a page of these runs that ends at `last`; not before
    `earliest`."""
    through: datetime | None = await context.fetchval("activity/read_mark")
    if through is None:
        return earliest
    end = min(last, through)
    begin = max(earliest, end - timedelta(days=1))
    rows = await context.fetch(
        "activity/count_by_minute", first=begin.replace(second=0, microsecond=0), last=end, late_step=LATE
    )
    most = MOST_READ_LATE if chosen.late else MOST_READ
    read = late = 0
    for row in rows:
        read += row["runs"]
        late += row["late"]
        # The newest minute may contain runs that are later than the page.
        if read >= most or (chosen.late and late >= limit and row["minute"] + MINUTE < end):
            minute: datetime = row["minute"]
            return max(earliest, minute)
    return begin if rows else max(earliest, begin - UNCOUNTED)
