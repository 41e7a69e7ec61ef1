"""Account for jobs before they change: record everything up to now under the definition that is still valid.

The caller has locked the jobs and their timers, so the scheduler cannot fire in between. The caller then
moves each timer to `next_at`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
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
from sexton.security.quotas import Grant, take_runs

# A longer time or more jobs are planned in a thread, so that the event loop goes on.
LONG = timedelta(hours=6)
MANY = 200


@dataclass(frozen=True, slots=True)
class Accounted:
    """The first occurrence that is still open (None: there is none), and how many have fired by now."""

    next_at: datetime | None
    fired_count: int


async def account(
    context: Context, jobs: Sequence[LockedJob], *, close: bool = False, moving: bool = False
) -> list[Accounted]:
    """Record what is due.

    `close`: the schedule or the job is about to be replaced or deleted. Occurrences whose scheduled time has
    come but whose jitter has not ended are recorded too: they fire when their jitter ends, or are skipped if
    the job is paused. `moving`: a single time that has come does not fire, because it is being moved.

    If the schedule of a job cannot be computed, only its first open occurrence is known. It stays open; with
    `close` it is recorded as missed."""
    apart = len(jobs) >= MANY or any(_place(held) < held.now - LONG for held in jobs)
    plans = (
        await asyncio.to_thread(_plan_all, jobs, close, moving) if apart else _plan_all(jobs, close, moving)
    )
    await _record(context, jobs, plans)
    return [
        Accounted(None, held.job.spec.max_runs or 0)
        if held.timer is None
        else Accounted(decided.next_at, held.timer["fired_count"] + len(decided.runs))
        for held, decided in zip(jobs, plans, strict=True)
    ]


async def _record(context: Context, jobs: Sequence[LockedJob], plans: Sequence[Plan]) -> None:
    """Write runs and skipped occurrences. Runs beyond the quota of the namespace are skipped."""
    busy = [
        (held.job, held.timer["lane"], decided)
        for held, decided in zip(jobs, plans, strict=True)
        if held.timer is not None and (decided.runs or decided.skips)
    ]
    if not busy:
        return
    now = jobs[0].now
    starts = await reserve(context, sum(decided.missed for *_, decided in busy), now)
    runs = [(job, run, run.scheduled_at + job.jitter) for job, _, decided in busy for run in decided.runs]
    skips = [(job, skip) for job, _, decided in busy for skip in decided.skips]
    grant = await take_runs(context, len(runs), now) if jobs[0].metered else Grant(len(runs))
    skips += [(job, PlannedSkip(run.scheduled_at, SkipReason.QUOTA)) for job, run, _ in runs[grant.runs :]]
    runs = runs[: grant.runs]
    available = [next(starts) if _is_late(run) else due_at for _, run, due_at in runs]
    await context.execute(
        "jobs/account",
        jobs=[job.id for job, *_ in busy],
        revisions=[job.revision for job, *_ in busy],
        lanes=[lane for _, lane, _ in busy],
        overlaps=[overlap_of(job.spec) for job, *_ in busy],
        chained=[decided.chained for *_, decided in busy],
        expires_seconds=[job.spec.expires_seconds for job, *_ in busy],
        concurrency_keys=[concurrency_key_of(job.spec, job.id) for job, *_ in busy],
        run_jobs=[job.id for job, *_ in runs],
        scheduled=[run.scheduled_at for _, run, _ in runs],
        due=[due_at for *_, due_at in runs],
        triggers=[run.trigger.value for _, run, _ in runs],
        missed=[run.missed for _, run, _ in runs],
        available=grant.starts_of(available),
        priorities=[PRIORITY_LOWEST if _is_late(run) else job.spec.priority for job, run, _ in runs],
        skip_jobs=[job.id for job, _ in skips],
        skipped=[skip.scheduled_at for _, skip in skips],
        skipped_until=[skip.until_at for _, skip in skips],
        skipped_occurrences=[skip.occurrences for _, skip in skips],
        skip_reasons=[skip.reason.value for _, skip in skips],
        now=now,
    )


def _is_late(run: PlannedRun) -> bool:
    return run.trigger is Trigger.CATCH_UP


async def reserve(context: Context, runs: int, now: datetime | None = None) -> Iterator[datetime]:
    """The start times of this many missed runs, at the catch-up rate of the cluster."""
    if not runs:
        return iter(())
    [row] = await context.fetch("firing/reserve_catch_up", runs=runs, now=now)
    return (row["first_at"] + timedelta(seconds=place * row["seconds"]) for place in range(runs))


def _place(held: LockedJob) -> datetime:
    """The first occurrence that is not accounted for."""
    at: datetime = held.now if held.timer is None else held.timer["scheduled_at"]
    return at


def _plan_all(jobs: Sequence[LockedJob], close: bool, moving: bool) -> list[Plan]:
    return [_plan(held, close, moving) for held in jobs]


def _plan(held: LockedJob, close: bool, moving: bool) -> Plan:
    timer = held.timer
    if timer is None:
        return Plan((), (), None)
    place: datetime = timer["scheduled_at"]
    if place > held.now and timer["max_runs"] is None:
        return Plan((), (), place)  # nothing has come: most jobs, and their schedule need not be read
    if moving and place <= held.now:
        return Plan((), (PlannedSkip(place, SkipReason.RESCHEDULED),), None)
    policy = MissedPolicy.of(held.job.spec, timer["catch_up_seconds"])
    try:
        decided = _decide(held.job, policy, place, timer["fired_count"], held.now)
        return _close(held.job, decided, timer["fired_count"], held.now) if close else decided
    except (ScheduleError, OverflowError):
        missed = close and place <= held.now
        return Plan((), (PlannedSkip(place, SkipReason.MISSED),) if missed else (), place)


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
    """Fire the occurrences whose jitter has not ended yet, or skip them if the job stays paused."""
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
