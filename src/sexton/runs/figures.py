"""The durations and the lateness of the runs of one job over time."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil
from typing import Annotated

import msgspec

from sexton.jobs.read import view
from sexton.jobs.spread import jitter_of
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

POINTS = 120
MOST_RUNS = 50_000


class JobPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that ended in a piece of time."""

    at: Annotated[datetime, about("The beginning of the interval.")]
    runs: Annotated[int, about("Runs that ended in the interval.")]
    failed: Annotated[int, about("Of these, those that died or expired.")]
    duration_p50_ms: Annotated[
        float | None, about("Half of the last attempts took at most so many milliseconds.")
    ] = None
    duration_p99_ms: Annotated[
        float | None, about("99 of 100 last attempts took at most so many milliseconds.")
    ] = None
    late_p50_ms: Annotated[
        float | None, about("Half of the runs started at most so many milliseconds after they were due.")
    ] = None
    late_p99_ms: Annotated[
        float | None, about("99 of 100 runs started at most so many milliseconds after they were due.")
    ] = None


class JobFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A job over time."""

    since: Annotated[datetime, about("The beginning of the figures.")]
    seconds: Annotated[int, about("The length of each interval.")]
    points: Annotated[list[JobPoint], about(f"The intervals with runs, in order; at most {POINTS + 1}.")]
    cut: Annotated[bool, about(f"True if only the latest {MOST_RUNS:,} runs were read.")] = False


@query
async def job_figures(context: Context, job: int, hours: int) -> JobFigures:
    """The last hours of a job, in at most 120 pieces of whole minutes."""
    jitter = jitter_of(job, (await view(context, job)).jitter_seconds)
    now = await context.time()
    since = now - timedelta(hours=hours)
    seconds = ceil(hours * 60 / POINTS) * 60
    rows = await context.fetch(
        "reading/list_job_figures", job_id=job, since=since, seconds=seconds, jitter=jitter, most=MOST_RUNS
    )
    points = []
    for row in rows:
        durations, lates = row["durations"] or (None, None), row["lates"] or (None, None)
        points.append(
            JobPoint(
                at=row["at"],
                runs=row["runs"],
                failed=row["failed"],
                duration_p50_ms=_rounded(durations[0]),
                duration_p99_ms=_rounded(durations[1]),
                late_p50_ms=_rounded(lates[0]),
                late_p99_ms=_rounded(lates[1]),
            )
        )
    return JobFigures(
        since=since, seconds=seconds, points=points, cut=sum(each.runs for each in points) >= MOST_RUNS
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
