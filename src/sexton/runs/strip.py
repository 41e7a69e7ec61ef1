"""The latest runs of each job of a page, which the console shows as a strip of bars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from sexton.errors import SextonError
from sexton.jobs.spread import jitter_of
from sexton.jobs.timing import make_schedule
from sexton.jobs.view import JobView
from sexton.model import decode_id, encode_id
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

LENGTH = 12
# A list reads history back to here.
SINCE = timedelta(days=7)


class StripRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of the latest runs of a job, or an occurrence that was skipped."""

    run_id: Annotated[str | None, about("The run; null: the occurrence was skipped.")] = None
    status: Annotated[str, about("success, dead, cancelled, expired or skipped.")]
    at: Annotated[datetime, about("The nominal time.")]
    late_seconds: Annotated[float | None, about("How late it started.")] = None
    seconds: Annotated[float | None, about("How long its last attempt took.")] = None


class ListedJob(JobView, frozen=True, kw_only=True):
    """A job with its latest runs, for lists."""

    strip: Annotated[
        list[StripRun] | msgspec.UnsetType,
        about("Its latest runs of a week, the newest last; up to 12. With `expand=strip`."),
    ] = msgspec.UNSET
    words: Annotated[
        str | msgspec.UnsetType | None,
        about("Its schedule in English; null if it cannot be read. With `expand=strip`."),
    ] = msgspec.UNSET


@query
async def with_strips(context: Context, jobs: Sequence[JobView]) -> list[ListedJob]:
    """The jobs of a page with their latest runs, read in one statement."""
    numbers = [decode_id("j", job.job_id) or 0 for job in jobs]
    strips: dict[int, list[StripRun]] = {}
    jitters = {
        number: jitter_of(number, job.jitter_seconds) for number, job in zip(numbers, jobs, strict=True)
    }
    if numbers:
        since = await context.time() - SINCE
        for row in await context.fetch("reading/list_strips", job_ids=numbers, since=since, most=LENGTH):
            started, finished = row["started_at"], row["finished_at"]
            due_at = row["scheduled_at"] + timedelta(seconds=jitters[row["id"]])
            strips.setdefault(row["id"], []).append(
                StripRun(
                    run_id=row["run_id"] and encode_id("r", row["run_id"]),
                    status=row["status"],
                    at=row["scheduled_at"],
                    late_seconds=started and max(0.0, round((started - due_at).total_seconds(), 3)),
                    seconds=started and finished and round((finished - started).total_seconds(), 3),
                )
            )
    return [
        ListedJob(
            **{name: getattr(job, name) for name in JobView.__struct_fields__},
            strip=strips.get(number, [])[::-1],
            words=words_of(job),
        )
        for number, job in zip(numbers, jobs, strict=True)
    ]


def words_of(job: JobView) -> str | None:
    """The schedule in English. None if it cannot be read: the job's problem says why."""
    try:
        return make_schedule(job, job.anchor).explain()
    except (SextonError, OverflowError):
        return None
