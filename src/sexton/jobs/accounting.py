"""Before a job changes, everything up to now is recorded, under the definition that was valid until then.

The caller holds the job and its timer, so that no firing comes between; it moves the timer to `next_at`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sexton.errors import ScheduleError
from sexton.jobs.change import LockedJob
from sexton.jobs.planning import (
    MissedPolicy,
    Plan,
    PlannedRun,
    PlannedSkip,
    paused,
    plan,
)
from sexton.jobs.stored import StoredJob, concurrency_key_of, overlap_of
from sexton.model import PRIORITY_LOWEST, JobStatus, SkipReason, Trigger
from sexton.postgres.transaction import Context

LONG = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Accounted:
    """The first occurrence that is still open (None: there is none), and how many have fired by now."""

    next_at: datetime | None
    fired_count: int


async def account(
    context: Context, held: LockedJob, *, close: bool = False, moving: bool = False
) -> Accounted:
    """Record what is due. With `close`, also what has come but waits for the end of its jitter, because its
    schedule or its job is about to go: it fires at that end, or, if the job is paused, it is skipped. With
    `moving`, a single time that has come does not fire: it was moved.

    Of a job that is set aside only the first open occurrence is known. It stays open, unless it is closed:
    then it was missed."""
    timer = held.timer
    if timer is None:
        return Accounted(None, held.job.spec.max_runs or 0)
    place: datetime = timer["scheduled_at"]
    if moving and place <= held.now:
        moved = Plan((), (PlannedSkip(place, SkipReason.RESCHEDULED),), None)
        await _record(context, held.job, timer["lane"], moved, held.now)
        return Accounted(None, timer["fired_count"])
    policy = MissedPolicy.of(held.job.spec, timer["catch_up_seconds"])
    case = (held.job, policy, place, timer["fired_count"], held.now)
    try:
        decided = await asyncio.to_thread(_decide, *case) if held.now - place > LONG else _decide(*case)
        if close:
            decided = _close(held.job, decided, timer["fired_count"], held.now)
    except (ScheduleError, OverflowError):
        missed = close and place <= held.now
        decided = Plan((), (PlannedSkip(place, SkipReason.MISSED),) if missed else (), place)
    await _record(context, held.job, timer["lane"], decided, held.now)
    return Accounted(decided.next_at, timer["fired_count"] + len(decided.runs))


async def _record(context: Context, job: StoredJob, lane: int, decided: Plan, now: datetime) -> None:
    """Write runs and skipped occurrences."""
    if not decided.runs and not decided.skips:
        return
    spec, jitter = job.spec, job.jitter
    starts = await reserve(context, decided.missed, now)
    available = [
        next(starts) if run.trigger is Trigger.CATCH_UP else run.scheduled_at + jitter for run in decided.runs
    ]
    await context.execute(
        "jobs/account",
        job_id=job.id,
        revision=job.revision,
        lane=lane,
        overlap=overlap_of(spec),
        chained=decided.chained,
        expires_seconds=spec.expires_seconds,
        concurrency_key=concurrency_key_of(spec, job.id),
        scheduled=[run.scheduled_at for run in decided.runs],
        due=[run.scheduled_at + jitter for run in decided.runs],
        triggers=[run.trigger.value for run in decided.runs],
        missed=[run.missed for run in decided.runs],
        available=available,
        priorities=[
            PRIORITY_LOWEST if run.trigger is Trigger.CATCH_UP else spec.priority for run in decided.runs
        ],
        skipped=[skip.scheduled_at for skip in decided.skips],
        skipped_until=[skip.until_at for skip in decided.skips],
        skipped_occurrences=[skip.occurrences for skip in decided.skips],
        skip_reasons=[skip.reason.value for skip in decided.skips],
        now=now,
    )


async def reserve(context: Context, runs: int, now: datetime | None = None) -> Iterator[datetime]:
    """When so many missed runs may start, at the rate of the whole cluster."""
    if not runs:
        return iter(())
    row = await context.fetchrow("firing/reserve_catch_up", runs=runs, now=now)
    assert row is not None
    return (row["first_at"] + timedelta(seconds=place * row["seconds"]) for place in range(runs))


def _decide(job: StoredJob, policy: MissedPolicy, place: datetime, fired: int, now: datetime) -> Plan:
    if job.status != JobStatus.PAUSED:
        return plan(job.schedule, policy, place, job.jitter, now, _remaining(job, fired))
    end = job.row["paused_until"]
    end = now if end is None else min(end, now)
    skipped = paused(job.schedule, place, job.jitter, end)
    if job.schedule.kind == "once" and skipped.skips:
        # A single time that came during the pause follows missed_window.
        late = plan(job.schedule, policy, place, job.jitter, now)
        skips = tuple(PlannedSkip(skip.scheduled_at, skipped.skips[0].reason) for skip in late.skips)
        return Plan(late.runs, skips, late.next_at, late.chained)
    if end == now or skipped.next_at is None:
        return skipped
    # The pause ended by itself before this: what came since then is due like any other.
    since = plan(job.schedule, policy, skipped.next_at, job.jitter, now, _remaining(job, fired))
    return Plan(since.runs, skipped.skips + since.skips, since.next_at, since.chained)


def _close(job: StoredJob, decided: Plan, fired: int, now: datetime) -> Plan:
    """Close what lies between its scheduled time and the end of its jitter: it fires, or a pause that lasts
    skips it."""
    at, runs = decided.next_at, list(decided.runs)
    until = job.row["paused_until"]
    if job.status == JobStatus.PAUSED and (until is None or until >= now):
        skips = list(decided.skips)
        while at is not None and at <= now:
            skips.append(PlannedSkip(at, SkipReason.PAUSED))
            at = job.schedule.next_after(at)
        return Plan(decided.runs, tuple(skips), at, decided.chained)
    remaining = _remaining(job, fired)
    while at is not None and at <= now and (remaining is None or len(runs) < remaining):
        runs.append(PlannedRun(at, Trigger.SCHEDULE, missed=False))
        at = job.schedule.next_after(at)
    if remaining is not None and len(runs) >= remaining:
        at = None
    return Plan(tuple(runs), decided.skips, at, decided.chained)


def _remaining(job: StoredJob, fired: int) -> int | None:
    return None if job.spec.max_runs is None else job.spec.max_runs - fired
