"""Pause, resume, delete: one job, or many that are locked together."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sexton.clock import iso
from sexton.errors import Conflict, InvalidField, Unavailable
from sexton.jobs.accounting import account
from sexton.jobs.change import (
    DONE,
    HORIZON_SECONDS,
    UNCHANGED,
    LockedJob,
    Verdict,
    accept,
    hold,
    hold_timers,
    numbers,
    tell,
)
from sexton.jobs.read import view
from sexton.jobs.view import JobView
from sexton.model import JobStatus, encode_id
from sexton.postgres.transaction import Context, command
from sexton.refusal import aware, check_text

log = logging.getLogger("sexton")

MOST_RESUMED = 1000
OVER = "its pause is over"


@command
async def pause(
    context: Context, ref: str, *, reason: str | None = None, until: datetime | None = None
) -> JobView:
    """Stop firing. Runs that have fired go on; occurrences that fall due from now on are recorded as
    paused."""
    held = await hold(context, ref)
    [verdict] = await pause_all(context, [held], reason=reason, until=until)
    accept(verdict)
    return await view(context, held.job.id)


@command
async def resume(context: Context, ref: str) -> JobView:
    """Fire again. Occurrences during the pause are recorded as paused; a single time follows missed_window
    instead, and so do occurrences after the end of a pause that had one."""
    held = await hold(context, ref)
    [verdict] = await resume_all(context, [held])
    accept(verdict)
    return await view(context, held.job.id)


async def resume_due(context: Context) -> int:
    """Resume the jobs whose pause has ended, one transaction per namespace. Returns how many; at most
    `MOST_RESUMED`."""
    by_namespace: dict[str, list[int]] = {}
    for row in await context.fetch("jobs/list_ended_pauses", limit=MOST_RESUMED):
        by_namespace.setdefault(row["namespace"], []).append(row["id"])
    resumed = 0
    for namespace, ended in by_namespace.items():
        resumed += await _resume_together(replace(context, namespace=namespace), ended)
    return resumed


async def _resume_together(context: Context, ended: Sequence[int]) -> int:
    try:
        return await _resume_ended(replace(context, reason=OVER), ended)
    except Unavailable:
        raise
    except Exception:
        # At least one of them cannot be resumed: resume each alone to find it.
        return sum([await _resume_alone(context, number) for number in ended])


async def _resume_alone(context: Context, number: int) -> int:
    """A job that cannot be resumed stays paused, with the error as its reason, so that the others go on."""
    try:
        return await _resume_ended(replace(context, reason=OVER), [number])
    except Unavailable:
        raise
    except Exception as error:
        log.exception("%s cannot be resumed", encode_id("j", number))
        reason = f"it could not be resumed: {error}"[:1000]
        await _stay_paused(context, number, reason)
        return 0


@command
async def _stay_paused(context: Context, number: int, reason: str) -> None:
    """Remove the end of a pause, so that it lasts until a caller resumes the job."""
    row = await context.fetchrow("jobs/stay_paused", job_id=number, reason=reason)
    if row is not None:
        after = {"paused_until": None, "paused_reason": reason}
        context.changed(
            "job.kept_paused",
            encode_id("j", number),
            row["name"],
            before={name: row[name] for name in after},
            after=after,
            job_id=number,
            namespace=row["namespace"],
        )


@command
async def _resume_ended(context: Context, ended: Sequence[int]) -> int:
    """Resume these jobs, except those whose pause was changed in the meantime."""
    jobs = await hold_timers(context, await context.fetch("jobs/lock", job_ids=ended))
    over = [held for held in jobs if held.job.status == JobStatus.PAUSED and not _still_paused(held)]
    await resume_all(context, over)
    return len(over)


async def next_resumption(context: Context) -> float:
    """The seconds until the next pause ends: 0 if one has ended, infinity if none ends."""
    seconds = await context.fetchval("jobs/find_next_pause_end")
    return math.inf if seconds is None else max(0.0, float(seconds))


@command
async def delete(context: Context, ref: str, *, cancel_running: bool = False, final: bool = False) -> None:
    """Free the name, remove the timer, and cancel waiting runs; with `cancel_running` also running ones. The
    history stays. Deleting a deleted job by its id changes nothing. With `final` only the command that
    restores what the job belongs to can restore it."""
    held = await hold(context, ref, deleted=True)
    await delete_all(context, [held], cancel_running=cancel_running, final=final)


async def pause_all(
    context: Context, jobs: Sequence[LockedJob], *, reason: str | None = None, until: datetime | None = None
) -> list[Verdict]:
    """Pause locked jobs. A job that is already paused gets the new reason and end."""
    if reason is not None:
        check_text(reason, "reason", 1000)
    if until is not None and aware(until, "until") <= jobs[0].now:
        raise InvalidField(
            "in_the_past", f"until, {iso(until)}, is in the past", field="until", hint="give a later time"
        )
    live = [held for held in jobs if held.timer is not None]
    ended = await move_timers(context, [held for held in live if not _still_paused(held)], JobStatus.PAUSED)
    paused = [held for held in live if held.job.id not in ended and not _is_paused_so(held, reason, until)]
    await set_status(context, paused, JobStatus.PAUSED, reason, until)
    if paused:
        after = {"status": "paused", "paused_reason": reason, "paused_until": until}
        tell(context, "job.paused", paused, after, reason=reason)
    done = ended | set(numbers(paused))
    return [
        completed(held.ref) if held.timer is None else DONE if held.job.id in done else UNCHANGED
        for held in jobs
    ]


async def resume_all(context: Context, jobs: Sequence[LockedJob]) -> list[Verdict]:
    """Resume locked jobs."""
    paused = [held for held in jobs if held.job.status == JobStatus.PAUSED]
    ended = await move_timers(context, paused, JobStatus.ACTIVE)
    resumed = [held for held in paused if held.job.id not in ended]
    await set_status(context, resumed, JobStatus.ACTIVE)
    if resumed:
        after = {"status": "active", "paused_reason": None, "paused_until": None}
        tell(context, "job.resumed", resumed, after)
    done = set(numbers(paused))
    return [
        DONE if held.job.id in done else completed(held.ref) if held.timer is None else UNCHANGED
        for held in jobs
    ]


async def delete_all(
    context: Context, jobs: Sequence[LockedJob], *, cancel_running: bool = False, final: bool = False
) -> list[Verdict]:
    """Delete locked jobs."""
    live = [held for held in jobs if held.job.status != JobStatus.DELETED]
    if live:
        accounted = await account(context, live, close=True)
        await context.execute(
            "jobs/delete",
            job_ids=numbers(live),
            fired_counts=[each.fired_count for each in accounted],
            next_at=[each.next_at for each in accounted],
            final=final,
            now=live[0].now,
        )
    if final and len(live) < len(jobs):
        gone = [held for held in jobs if held.job.status == JobStatus.DELETED]
        await context.execute("jobs/delete_for_good", job_ids=numbers(gone))
    [stopped] = await context.fetch(
        "jobs/cancel_runs", job_ids=numbers(jobs), running=cancel_running, reason="the job was deleted"
    )
    told = jobs if any(stopped.values()) else live
    if told:
        detail = {"runs_cancelled": stopped["cancelled"], "runs_asked_to_stop": stopped["requested"]}
        tell(context, "job.deleted", told, {"status": "deleted"}, detail=detail)
    return [UNCHANGED if held.job.status == JobStatus.DELETED else DONE for held in jobs]


def completed(ref: str) -> Conflict:
    hint = "give it another schedule to start it again"
    return Conflict("job_completed", f"job {ref} is completed: it does not fire any more", hint=hint)


async def set_status(
    context: Context,
    jobs: Sequence[LockedJob],
    status: JobStatus,
    reason: str | None = None,
    until: datetime | None = None,
) -> None:
    if jobs:
        await context.execute(
            "jobs/set_status",
            job_ids=numbers(jobs),
            status=status.value,
            reason=reason,
            until=until,
            now=jobs[0].now,
        )


async def move_timers(
    context: Context, jobs: Sequence[LockedJob], status: JobStatus | None = None, *, edits: int = 0
) -> set[int]:
    """Account for everything up to now, and move each timer to the next open occurrence, for jobs that get
    this status or keep theirs. The revisions of the timers grow by `edits`. A job without an open occurrence
    is completed; returns the numbers of these jobs."""
    if not jobs:
        return set()
    accounted = zip(jobs, await account(context, jobs), strict=True)
    places = [(held, done, done.next_at) for held, done in accounted if done.next_at is not None]
    ended = set(numbers(jobs)) - {held.job.id for held, *_ in places}
    if ended:
        await context.execute("jobs/complete", job_ids=list(ended), now=jobs[0].now)
        over = [held for held in jobs if held.job.id in ended]
        tell(context, "job.completed", over, {"status": "completed"})
    if places:
        await context.execute(
            "jobs/move_timers",
            job_ids=[held.job.id for held, *_ in places],
            scheduled=[at for *_, at in places],
            due=[
                None if (status or held.job.status) == JobStatus.PAUSED else at + held.job.jitter
                for held, _, at in places
            ],
            fired_counts=[done.fired_count for _, done, _ in places],
            edits=edits,
            horizon_seconds=HORIZON_SECONDS,
            now=jobs[0].now,
        )
    return ended


def _still_paused(held: LockedJob) -> bool:
    """Whether the job is paused and its pause has not ended."""
    until = held.job.row["paused_until"]
    return held.job.status == JobStatus.PAUSED and (until is None or until > held.now)


def _is_paused_so(held: LockedJob, reason: str | None, until: datetime | None) -> bool:
    row = held.job.row
    return _still_paused(held) and (row["paused_reason"], row["paused_until"]) == (reason, until)
