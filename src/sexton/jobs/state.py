"""Pause, resume, delete."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from datetime import datetime

from sexton.errors import Conflict, InvalidField, NotFound, Unavailable
from sexton.jobs.accounting import account
from sexton.jobs.change import HORIZON_SECONDS, LockedJob, hold
from sexton.jobs.read import view
from sexton.jobs.view import JobView
from sexton.model import JobStatus, encode_id
from sexton.postgres.transaction import Context, command
from sexton.refusal import aware, check_text

log = logging.getLogger("sexton")

MOST_RESUMED = 100


@command
async def pause(
    context: Context, ref: str, *, reason: str | None = None, until: datetime | None = None
) -> JobView:
    """Stop firing. Runs that have fired go on; what falls due from here on is recorded as paused."""
    if reason is not None:
        check_text(reason, "reason", 1000)
    held = await hold(context, ref)
    if until is not None and aware(until, "until") <= held.now:
        raise InvalidField("in_the_past", "until is over already", field="until", hint="give a later time")
    if held.timer is None:
        raise completed(ref)
    if _still_paused(held) or await _move(context, held, paused=True):
        await set_status(context, held, JobStatus.PAUSED, reason, until)
    return await view(context, held.job.id)


@command
async def resume(context: Context, ref: str) -> JobView:
    """Go on. What fell due meanwhile is recorded as paused; a single time follows missed_window instead. So
    does what came after the end of a pause that had one."""
    held = await hold(context, ref)
    if held.job.status == JobStatus.PAUSED:
        if await _move(context, held, paused=False):
            await set_status(context, held, JobStatus.ACTIVE)
    elif held.timer is None:
        raise completed(ref)
    return await view(context, held.job.id)


async def resume_due(context: Context) -> int:
    """Resume the jobs whose pause is over, each in a transaction of its own; how many there were. It takes at
    most `MOST_RESUMED`."""
    resumed = 0
    for row in await context.fetch("jobs/list_ended_pauses", now=context.now, limit=MOST_RESUMED):
        job_id = encode_id("j", row["id"])
        try:
            await resume(replace(context, namespace=row["namespace"]), job_id)
            resumed += 1
        except (Conflict, NotFound):
            continue  # It was completed or deleted meanwhile.
        except Unavailable:
            raise
        except Exception as error:
            # It must not keep the others from going on: it stays paused, and says why.
            log.exception("%s cannot be resumed", job_id)
            reason = f"it could not be resumed: {error}"[:1000]
            await context.execute("jobs/stay_paused", job_id=row["id"], reason=reason)
    return resumed


async def next_resumption(context: Context) -> float:
    """The seconds until the next pause ends by itself: 0 if one has ended, infinity if none does."""
    seconds = await context.fetchval("jobs/next_pause_end", now=context.now)
    return math.inf if seconds is None else max(0.0, float(seconds))


@command
async def delete(context: Context, ref: str, *, cancel_running: bool = False) -> None:
    """Free the name and remove the timer; cancel what waits, and with `cancel_running` what runs. The history
    stays. Deleting a deleted job by its id changes nothing."""
    held = await hold(context, ref, deleted=True)
    if held.job.status != JobStatus.DELETED:
        await account(context, held, close=True)
        await context.execute("jobs/delete", job_id=held.job.id, now=held.now)
    await context.execute(
        "jobs/cancel_runs",
        job_id=held.job.id,
        running=cancel_running,
        reason="the job was deleted",
        now=context.now,
    )


def completed(ref: str) -> Conflict:
    hint = "give it another schedule to start it again"
    return Conflict("job_completed", f"job {ref} is completed: it does not fire any more", hint=hint)


async def set_status(
    context: Context,
    held: LockedJob,
    status: JobStatus,
    reason: str | None = None,
    until: datetime | None = None,
) -> None:
    await context.execute(
        "jobs/set_status", job_id=held.job.id, status=status.value, reason=reason, until=until, now=held.now
    )


def _still_paused(held: LockedJob) -> bool:
    """Whether the job is paused, and its pause not over."""
    until = held.job.row["paused_until"]
    return held.job.status == JobStatus.PAUSED and (until is None or until > held.now)


async def _move(context: Context, held: LockedJob, *, paused: bool) -> bool:
    """Account for everything up to now, and move the timer to what is open. False: nothing is, and the job is
    completed."""
    done = await account(context, held)
    if done.next_at is None:
        await context.execute("jobs/complete", job_id=held.job.id, now=held.now)
        return False
    await context.execute(
        "jobs/move_timer",
        job_id=held.job.id,
        scheduled_at=done.next_at,
        due_at=None if paused else done.next_at + held.job.jitter,
        fired_count=done.fired_count,
        horizon_seconds=HORIZON_SECONDS,
        now=held.now,
    )
    return True
