"""Restores deleted jobs, as long as their rows are kept.

A deletion keeps the state of the job: its status, its pause, how many runs had fired, and the first open
occurrence. The restored job continues from there. Occurrences that fell due since are recorded as skipped
with the reason `deleted`, so that each occurrence is accounted for once. A run that the deletion cancelled
stays cancelled. A job that was removed after it had completed cannot be restored. The job of a cancelled
action, release or campaign is deleted with `final`: only its restoration restores the job (`even_final`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.errors import Conflict, NameTaken, ScheduleError, SextonError
from sexton.jobs.change import (
    DONE,
    HORIZON_SECONDS,
    UNCHANGED,
    LockedJob,
    Verdict,
    accept,
    hold,
    lane_ids,
    numbers,
    tell,
)
from sexton.jobs.planning import Plan, paused
from sexton.jobs.read import view
from sexton.jobs.stored import lane_of, timer_columns
from sexton.jobs.view import JobView
from sexton.jobs.zones import note_zones
from sexton.model import JobStatus, SkipReason, decode_id, encode_id
from sexton.postgres.transaction import Context, command
from sexton.security.quotas import take_jobs

# The columns of a timer, and the parameters of the statement that take them.
COLUMNS = {
    "timing_key": "timing_keys", "scheduled_at": "scheduled", "due_at": "due", "fired_count": "fired_counts",
    "max_runs": "max_runs", "lane": "lanes", "priority": "priorities", "overlap": "overlaps",
    "expires_seconds": "expires_seconds", "grace_seconds": "grace_seconds",
    "concurrency_key": "concurrency_keys",
}  # fmt: skip


class DeletedAs(msgspec.Struct, frozen=True):
    """The state of a job when it was deleted."""

    status: JobStatus
    fired_count: int
    next_at: datetime | None
    #: The owner of the job was cancelled.
    final: bool = False


@dataclass(frozen=True, slots=True)
class _Return:
    """A job to restore, and the plan for its open occurrences."""

    held: LockedJob
    before: DeletedAs
    plan: Plan

    @property
    def status(self) -> JobStatus:
        return JobStatus.COMPLETED if self.plan.next_at is None else self.before.status


@command
async def restore(context: Context, ref: str, *, even_final: bool = False) -> JobView:
    """Restore a deleted job, by its id or its former name. A job that is not deleted stays as it is.
    `even_final`: restore it even if it was deleted with `final`."""
    if decode_id("j", ref) is None:
        number = await context.fetchval("jobs/find_deleted", name=ref)
        ref = ref if number is None else encode_id("j", number)
    held = await hold(context, ref, deleted=True)
    [verdict] = await restore_all(context, [held], even_final=even_final)
    accept(verdict)
    return await view(context, held.job.id)


async def restore_all(
    context: Context, jobs: Sequence[LockedJob], *, even_final: bool = False
) -> list[Verdict]:
    """Restore locked jobs. Of several with one name, only the latest is restored."""
    verdicts: dict[int, Verdict] = dict.fromkeys(numbers(jobs), UNCHANGED)
    gone = [held for held in jobs if held.job.status == JobStatus.DELETED]
    found = await asyncio.to_thread(lambda: [_plan(held, even_final) for held in gone])
    returning = {}
    for held, each in zip(gone, found, strict=True):
        if isinstance(each, _Return):
            returning[held.job.id] = each
        else:
            verdicts[held.job.id] = each
    while returning:
        for number, refusal in (await _taken_names(context, list(returning.values()))).items():
            verdicts[number] = refusal
            del returning[number]
        try:
            async with context.open.transaction():
                await _write(context, list(returning.values()))
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != "jobs_name":
                raise
            continue  # another transaction has just created a job with one of the names
        break
    for status in JobStatus:
        if back := [each.held for each in returning.values() if each.status == status]:
            tell(context, "job.restored", back, {"status": status.value})
    return [DONE if held.job.id in returning else verdicts[held.job.id] for held in jobs]


def _plan(held: LockedJob, even_final: bool) -> _Return | SextonError:
    job, kept = held.job, held.job.row["deleted_as"]
    before = None if kept is None else msgspec.json.decode(kept, type=DeletedAs)
    if before is None or (before.final and not even_final):
        return Conflict(
            "not_restorable",
            f"job {held.ref} cannot be restored: it was removed after its completion, or with its "
            "release, window or message",
            hint="create it again",
        )
    if before.next_at is None or before.status == JobStatus.COMPLETED:
        return _Return(held, before, Plan((), (), None))
    try:
        plan = paused(job.schedule, before.next_at, job.jitter, held.now, SkipReason.DELETED)
    except (ScheduleError, OverflowError) as error:
        message = f"job {held.ref} cannot be restored: its schedule cannot be computed: {error}"
        return Conflict("not_restorable", message, hint="create it again, with another schedule")
    return _Return(held, before, plan)


async def _taken_names(context: Context, returning: Sequence[_Return]) -> dict[int, NameTaken]:
    """The jobs whose names live jobs have, or later ones among these."""
    names = {each.held.job.row["name"] for each in returning}
    rows = await context.fetch("jobs/find_names", names=list(names))
    owners: dict[str, int] = {row["name"]: row["id"] for row in rows}
    refused = {}
    for each in sorted(returning, key=lambda each: each.held.job.id, reverse=True):
        job = each.held.job
        other = owners.setdefault(job.row["name"], job.id)
        if other != job.id:
            hint = "rename or delete that job first"
            refused[job.id] = NameTaken(job.row["name"], encode_id("j", other), hint)
    return refused


async def _write(context: Context, returning: Sequence[_Return]) -> None:
    if not returning:
        return
    await take_jobs(context, len(returning))
    now = returning[0].held.now
    jobs = [each.held.job for each in returning]
    lanes = await lane_ids(context, {lane_of(job.spec) for job in jobs})
    await note_zones(context, {job.row["timezone"] for job in jobs})
    skips = [(each.held.job, skip) for each in returning for skip in each.plan.skips]
    if skips:
        await context.execute(
            "jobs/record_skips",
            jobs=[job.id for job, _ in skips],
            revisions=[job.revision for job, _ in skips],
            skipped=[skip.scheduled_at for _, skip in skips],
            until=[skip.until_at for _, skip in skips],
            occurrences=[skip.occurrences for _, skip in skips],
            reasons=[skip.reason.value for _, skip in skips],
        )
    open_ = [each for each in returning if each.plan.next_at is not None]
    timers = [_timer(each, lanes[lane_of(each.held.job.spec)]) for each in open_]
    await context.execute(
        "jobs/restore",
        job_ids=[job.id for job in jobs],
        statuses=[each.status.value for each in returning],
        timer_jobs=[each.held.job.id for each in open_],
        **{parameter: [timer[name] for timer in timers] for name, parameter in COLUMNS.items()},
        shards=returning[0].held.shards,
        horizon_seconds=HORIZON_SECONDS,
        now=now,
    )


def _timer(each: _Return, lane: int) -> dict[str, Any]:
    job, next_at = each.held.job, each.plan.next_at
    assert next_at is not None
    timer = timer_columns(job.spec, job.schedule, job.id, next_at, lane)
    if each.status == JobStatus.PAUSED:
        timer["due_at"] = None
    return {**timer, "fired_count": each.before.fired_count}
