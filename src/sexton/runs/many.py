"""Acting on many jobs: those that a filter means, a chunk at a time.

A chunk is one transaction. Its jobs are locked in the order of their ids and changed together, by the code
that changes a single one; a job that is refused does not keep the others from it. Between chunks nothing is
held. What was done stays done, whatever becomes of the next chunk: the same command goes on from there, for a
job that is as it should be is left alone. Runs are made anew each time: a caller that was cut off goes on
after the last cursor that it was told, or repeats its calls with their Idempotency-Keys.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import msgspec

from sexton.errors import Conflict, InvalidField, SextonError
from sexton.jobs.change import DONE, UNCHANGED, LockedJob, Verdict, hold_timers
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import list_jobs
from sexton.jobs.tally import MOST_NAMED, Refusal, SampledJob, Tally, check_expected
from sexton.model import JobStatus, encode_id
from sexton.postgres.page import number_in_cursor
from sexton.postgres.transaction import Context, command, query
from sexton.printable import counted

# So many jobs are locked together, for some hundredths of a second: those that are due meanwhile wait.
LARGEST_CHUNK = 1000

#: What is done to locked jobs: `pause_all` and others, with what they take beside.
Work = Callable[[Context, Sequence[LockedJob]], Awaitable[Sequence[Verdict]]]


def check_filter(chosen: JobFilter, *, every: bool, deleted: bool = False) -> JobFilter:
    """Refuse a filter that leaves nothing out, unless it is said that every job is meant. With `deleted`,
    those that are deleted are meant."""
    if chosen == JobFilter() and not every:
        raise InvalidField(
            "bad_filter",
            "nothing says which jobs are meant",
            field="filter",
            hint="give a label, a name, a target, an app or a status, or say all",
        )
    if deleted:
        if chosen.status not in (None, JobStatus.DELETED):
            raise InvalidField(
                "bad_value", "only deleted jobs are restored", field="filter.status", hint="leave it out"
            )
        return replace(chosen, status=JobStatus.DELETED)
    if chosen.status == JobStatus.DELETED:
        raise InvalidField(
            "bad_value",
            "deleted jobs stay as they are",
            field="filter.status",
            hint="use active, paused or completed, or restore them",
        )
    return chosen


@query
async def count(
    context: Context, chosen: JobFilter, *, after: str | None = None, through: str | None = None
) -> Tally:
    """What acting on these jobs would mean: how many they are, and some of them."""
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
    named: bool = False,
) -> Tally:
    """One chunk: do it to the next jobs of the filter. Refused if more than `expected` are meant. With
    `named` the answer has the ids of those that were changed."""
    if expected is not None:
        matched, _ = await _count(context, chosen, after, through)
        check_expected(matched, expected, "job", "jobs")
    async with context.planned_anew():
        rows = await context.fetch("jobs/lock_chosen", limit=limit, **_range(context, chosen, after, through))
    if not rows:
        return Tally()
    jobs = await hold_timers(context, rows)
    unread = {held.job.id: error for held in jobs if (error := _unreadable(held)) is not None}
    readable = [held for held in jobs if held.job.id not in unread]
    done = await work(context, readable) if readable else []
    verdicts = dict(zip((held.job.id for held in readable), done, strict=True)) | unread
    cursor = jobs[-1].job.job_id if len(jobs) == limit else None
    return _tally([(held, verdicts[held.job.id]) for held in jobs], cursor, named)


async def act_on_all(
    context: Context,
    work: Work,
    chosen: JobFilter,
    *,
    expected: int | None = None,
    after: str | None = None,
) -> Tally:
    """Chunk after chunk, up to the last of the jobs that are there when it begins. An error in the middle
    has a note that says where to go on."""
    last = (await count(context, chosen, after=after)).through
    done = Tally(cursor=after)
    while True:
        try:
            chunk = await act(context, work, chosen, after=done.cursor, through=last, expected=expected)
        except SextonError as error:
            if done.matched:
                error.add_note(
                    f"{counted(done.matched, 'job')} before it stay done; go on with after={done.cursor!r}"
                )
            raise
        done, expected = done.plus(chunk), None
        if done.cursor is None:
            return done


async def _count(
    context: Context, chosen: JobFilter, after: str | None, through: str | None
) -> tuple[int, int | None]:
    """How many jobs are meant, and the last of them."""
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


def _unreadable(held: LockedJob) -> SextonError | None:
    """A definition that another version has written must not keep the other jobs from their turn."""
    try:
        _ = held.job.spec
    except msgspec.ValidationError as error:
        message = f"job {held.ref} cannot be read by this version: {error}"
        return Conflict("unreadable_job", message, hint="edit it, or use the version that wrote it")
    return None


def _tally(verdicts: Sequence[tuple[LockedJob, Verdict]], cursor: str | None, named: bool) -> Tally:
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
        job_ids=[held.job.job_id for held, verdict in verdicts if named and verdict == DONE],
    )
