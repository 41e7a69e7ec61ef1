"""The number of runs in each status, for the heads of lists."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from sexton.jobs.spec import DEFAULTS
from sexton.postgres.estimate import MOST_EXACT, Total
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.runs.activity import KEEP_DAYS, LATE
from sexton.runs.filter import RunFilter
from sexton.runs.reach import reach

# The most ended runs that are counted with filters: each run and its job must be read.
MOST_COUNTED = 3_000
# How far back a filter without an index is searched, unless `since` is given.
SEARCHED = timedelta(days=1)
START = timedelta(days=KEEP_DAYS)


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs there are, by status. Ended ones are those that are kept, or were recorded since an
    instant."""

    pending: Annotated[int, about("Runs that wait for a worker, or for their time.")] = 0
    running: Annotated[int, about("Runs that are being carried out.")] = 0
    failed: Annotated[int, about("Runs that will be tried again.")] = 0
    waiting: Annotated[int, about("Runs that wait for an outside report.")] = 0
    success: Annotated[int, about("Runs that ended in success.")] = 0
    dead: Annotated[int, about("Runs that ended as dead letters.")] = 0
    cancelled: Annotated[int, about("Runs that were cancelled.")] = 0
    expired: Annotated[int, about("Runs that were too old to be started.")] = 0
    skipped: Annotated[int, about("Occurrences that were skipped.")] = 0
    since: Annotated[datetime, about("The instant since which ended runs are counted.")]
    estimated: Annotated[
        bool,
        about(
            "True if there may be more: live runs are counted to 10,000, ended runs with filters to 3,000."
        ),
    ] = False

    def total(self, chosen: RunFilter) -> Total:
        """The sum over the statuses of the filter."""
        wanted = [*chosen.live, *chosen.ended]
        return Total(sum(getattr(self, str(status)) for status in wanted), self.estimated)


@query
async def count_runs(context: Context, chosen: RunFilter) -> RunCounts:
    """The number in each status, also in statuses that the filter does not name."""
    now = await context.time()
    since = chosen.since or now - (SEARCHED if chosen.searching else START)
    until = chosen.until or now + timedelta(days=1)
    shared = {**chosen.parameters(), "job_id": chosen.job}
    async with context.planned_anew():
        live = (
            []
            if chosen.until
            else await context.fetch("reading/count_live_choice", states=None, limit=MOST_EXACT + 1, **shared)
        )
        exact = True
        if chosen.plain:
            minute = since.replace(second=0, microsecond=0)
            ended = await context.fetch(
                "activity/sum", since=minute, until=until, late_step=LATE if chosen.late else None
            )
        else:
            if chosen.searching and chosen.job is None and not chosen.unusual:
                earliest, since = since, await reach(context, chosen, since, min(now, until), MOST_COUNTED)
                exact = since == earliest
            ended = await context.fetch(
                "reading/count_ended_choice",
                statuses=["success", "dead", "cancelled", "expired", "skipped"],
                default_queue=DEFAULTS.queue,
                first=since,
                last=until,
                limit=MOST_COUNTED + 1,
                unusual=chosen.unusual and (chosen.error is not None or chosen.triggers is not None),
                **shared,
            )
            exact = exact and sum(row["runs"] for row in ended) <= MOST_COUNTED
    counts = {row["status"]: row["runs"] for row in [*live, *ended]}
    exact = exact and sum(row["runs"] for row in live) <= MOST_EXACT
    return RunCounts(since=since, estimated=not exact, **counts)
