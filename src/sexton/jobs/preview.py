"""The next occurrences of a schedule, with the reason of each that is moved or skipped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from sexton.errors import InvalidField
from sexton.jobs.change import find
from sexton.jobs.clock_change import ClockChange, changes_ahead
from sexton.jobs.spec import JobSpec
from sexton.jobs.stored import StoredJob
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import check_spec
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.schedules import Schedule

LARGEST = 1000
END = datetime(9000, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class PreviewedTime(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence. `local` is its nominal local time; `skipped` says why it does not fire."""

    scheduled_at: Annotated[datetime, about("The nominal time.")]
    local: Annotated[str, about("What the wall clock shows, or would show.")]
    note: Annotated[str | None, about("What is special about it.")] = None
    skipped: Annotated[str | None, about("Why it does not fire: dst_gap or excluded.")] = None


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    explanation: Annotated[str, about("The schedule in English.")]
    timezone: Annotated[str, about("The zone of the wall clock.")]
    occurrences: Annotated[
        list[PreviewedTime], about("The next times, and between them those that are skipped.")
    ]
    warnings: Annotated[list[str], about("Other readings of the schedule.")] = []
    clock_changes: Annotated[
        list[ClockChange],
        about("Clock changes of the zone in the next 400 days, and what they do to the schedule."),
    ] = []


def preview(spec: JobSpec, *, count: int = 10, now: datetime) -> Preview:
    """The preview of a job that is not stored. Raises what creating it would raise."""
    check_spec(spec)
    schedule, _ = read_schedule(spec, now)
    first = first_occurrence(spec, schedule, now)
    return _preview(schedule, min(now, first - MICROSECOND), count, spec.max_runs)


@query
async def preview_job(context: Context, ref: str, *, count: int = 10) -> Preview:
    """The preview of a stored job from its timer on; for a paused job, as if it were resumed now."""
    row = await context.require("job", ref, "jobs/preview", job_id=await find(context, ref))
    job = StoredJob(dict(row))
    if row["scheduled_at"] is None:
        return _answer(job.schedule, [], row["now"])
    start = row["now"] if job.status == "paused" else min(row["now"], row["scheduled_at"] - MICROSECOND)
    if job.schedule.move is not None and job.schedule.move.to == row["scheduled_at"] > start:
        start = (
            row["scheduled_at"] - MICROSECOND
        )  # what the rule says until then is skipped, however much it is
    left = None if job.spec.max_runs is None else job.spec.max_runs - row["fired_count"]
    return _preview(job.schedule, start, count, left)


def _preview(schedule: Schedule, start: datetime, count: int, left: int | None) -> Preview:
    if not 1 <= count <= LARGEST:
        raise InvalidField("out_of_range", f"count is {count}", field="count", hint=f"give 1 to {LARGEST}")
    wanted = count if left is None else min(count, left)
    found: list[PreviewedTime] = []
    firing = 0
    # Exclusions may skip thousands of occurrences in a row; the preview shows a limited number of them.
    for occurrence in schedule.occurrences(start, END):
        if firing == wanted or len(found) == count + LARGEST:
            break
        firing += occurrence.skipped is None
        found.append(
            PreviewedTime(
                scheduled_at=occurrence.at,
                local=occurrence.local.isoformat(),
                note=occurrence.note,
                skipped=occurrence.skipped,
            )
        )
    return _answer(schedule, found, start)


def _answer(schedule: Schedule, occurrences: list[PreviewedTime], start: datetime) -> Preview:
    return Preview(
        explanation=schedule.explain(),
        timezone=schedule.timezone,
        occurrences=occurrences,
        warnings=list(schedule.warnings),
        clock_changes=changes_ahead(schedule, start) if occurrences else [],
    )
