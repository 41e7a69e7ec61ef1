"""Commands on many jobs, chosen by a filter, a chunk at a time.

A chunk is one transaction. It locks its jobs in the order of their ids and changes them together, with the
code that changes a single job. A job that is refused does not stop the others. Between chunks no lock is
held. A chunk that is done stays done, even if the next one fails; repeating the command continues, because
jobs that are already in the wanted state stay unchanged. `run` creates new runs on each call: a caller whose
call was interrupted continues after the last cursor, or repeats its calls with the same Idempotency-Keys.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import msgspec

from sexton.errors import Conflict, InvalidField, SextonError
from sexton.jobs.change import DONE, UNCHANGED, LockedJob, Verdict, hold_timers
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import list_jobs
from sexton.jobs.tally import MOST_NAMED, Refusal, SampledJob, Tally, check_expected, check_selective
from sexton.model import JobStatus, encode_id
from sexton.postgres.page import number_in_cursor
from sexton.postgres.transaction import Context, command, query
from sexton.printable import counted

# The jobs that are locked together, for some hundredths of a second. Those that are due in that time wait.
LARGEST_CHUNK = 1000

#: What is done to locked jobs: `pause_all` and others, with their other arguments bound.
Work = Callable[[Context, Sequence[LockedJob]], Awaitable[Sequence[Verdict]]]


def check_filter(chosen: JobFilter, *, every: bool, deleted: bool = False) -> JobFilter:
    """Refuse an empty filter unless `every` is given. With `deleted`, select deleted jobs."""
    hint = "give a label, a name, a target, an app or a status, or say all"
    check_selective(chosen.selective, every=every, many="jobs", hint=hint)
    if deleted:
        if chosen.status not in (None, JobStatus.DELETED):
            raise InvalidField(
                "bad_value", "only deleted jobs can be restored", field="filter.status", hint="leave it out"
            )
        return replace(chosen, status=JobStatus.DELETED)
    if chosen.status == JobStatus.DELETED:
        raise InvalidField(
            "bad_value",
            "deleted jobs cannot be changed",
            field="filter.status",
            hint="use active, paused or completed, or restore them",
        )
    return chosen


@query
async def count(
    context: Context, chosen: JobFilter, *, after: str | None = None, through: str | None = None
) -> Tally:
    """A dry run: the number of these jobs, and some of them."""
    matched, last = await _count(context, chosen, after, through)
    page = await list_jobs(context, chosen, cursor=after, limit=MOST_NAMED)
    sample = [SampledJob(job_id=job.job_id, name=job.name, status=job.status) for job in page.items]
    end = None if last is None else encode_id("j", last)
    return Tally(dry_run=True, matched=matched, sample=sample, through=end)


@command
async def act(
    context: Context,
    work: Work,
    chosen: JobFilter,
    *,
    after: str | None = None,
    through: str | None = None,
    expected: int | None = None,
    limit: int = LARGEST_CHUNK,
    becoming: JobStatus | None = None,
) -> Tally:
    """Act on one chunk: the next jobs of the filter. Refused if more than `expected` jobs match. With
    `becoming` the answer has the ids of the changed jobs that had another status before."""
    if expected is not None:
        matched, _ = await _count(context, chosen, after, through)
        check_expected(matched, expected, "job", "jobs")
    async with context.planned_anew():
        rows = await context.fetch("jobs/lock_chosen", limit=limit, **_range(context, chosen, after, through))
    if not rows:
        return Tally()
    jobs = await hold_timers(context, rows)
    unread = {held.job.id: error for held in jobs if (error := unreadable(held)) is not None}
    readable = [held for held in jobs if held.job.id not in unread]
    done = await work(context, readable) if readable else []
    verdicts = dict(zip((held.job.id for held in readable), done, strict=True)) | unread
    cursor = jobs[-1].job.job_id if len(jobs) == limit else None
    return _tally([(held, verdicts[held.job.id]) for held in jobs], cursor, becoming)


async def act_on_all(
    context: Context,
    work: Work,
    chosen: JobFilter,
    *,
    expected: int | None = None,
    after: str | None = None,
) -> Tally:
    """Act chunk by chunk, up to the last job that exists at the beginning. An error has a note that says
    where to continue."""
    last = (await count(context, chosen, after=after)).through
    done = Tally(cursor=after)
    while True:
        try:
            chunk = await act(context, work, chosen, after=done.cursor, through=last, expected=expected)
        except SextonError as error:
            if done.matched:
                error.add_note(
                    f"{counted(done.matched, 'job')} before it stay done; continue with after={done.cursor!r}"
                )
            raise
        done, expected = done.plus(chunk), None
        if done.cursor is None:
            return done


async def _count(
    context: Context, chosen: JobFilter, after: str | None, through: str | None
) -> tuple[int, int | None]:
    """The number of jobs that match, and the last of them."""
    async with context.planned_anew():
        row = await context.fetchrow("jobs/count_chosen", **_range(context, chosen, after, through))
    assert row is not None
    return row["jobs"], row["last"]


def _range(context: Context, chosen: JobFilter, after: str | None, through: str | None) -> dict[str, object]:
    return {
        "after": 0 if after is None else number_in_cursor(after, "j", "after"),
        "through": None if through is None else number_in_cursor(through, "j", "through"),
        **chosen.parameters(),
    }


def unreadable(held: LockedJob) -> SextonError | None:
    """The error for a definition that this version cannot read. It must not stop the other jobs."""
    try:
        _ = held.job.spec
    except msgspec.ValidationError as error:
        message = f"job {held.ref} cannot be read by this version: {error}"
        return Conflict("unreadable_job", message, hint="edit it, or use the version that wrote it")
    return None


def _tally(
    verdicts: Sequence[tuple[LockedJob, Verdict]], cursor: str | None, becoming: JobStatus | None
) -> Tally:
    done = Tally(cursor=cursor)
    refused = Refusal.by_code((held.job.job_id, verdict) for held, verdict in verdicts)
    unchanged = sum(verdict == UNCHANGED for _, verdict in verdicts)
    return msgspec.structs.replace(
        done,
        matched=len(verdicts),
        done=len(verdicts) - unchanged - sum(each.jobs for each in refused),
        unchanged=unchanged,
        refused=refused,
        run_ids=[each for _, each in verdicts if isinstance(each, str) and each.startswith("r_")],
        job_ids=[
            held.job.job_id
            for held, verdict in verdicts
            if becoming is not None and verdict == DONE and held.job.status != becoming
        ],
    )
