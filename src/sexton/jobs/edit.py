"""Edits: PATCH and PUT, and moving the next occurrence.

One transaction keeps the old definition as a revision, accounts for everything up to now under it, and moves
the timer strictly after the last occurrence that was accounted for, one revision later. A scheduler that
planned a firing before finds the new revision and does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from shlex import quote
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso, whole_second
from sexton.errors import Conflict, InvalidField, ScheduleError
from sexton.jobs.accounting import Accounted, account
from sexton.jobs.change import (
    DONE,
    HORIZON_SECONDS,
    UNCHANGED,
    LockedJob,
    Verdict,
    check_handler,
    hold,
    lane_id,
    numbers,
    tell,
)
from sexton.jobs.create import insert, name_taken
from sexton.jobs.payload import check_payload_size
from sexton.jobs.read import view
from sexton.jobs.spec import MOST_LABELS, JobSpec
from sexton.jobs.spread import shard_of
from sexton.jobs.state import completed, move_timers, set_status
from sexton.jobs.stored import (
    StoredJob,
    concurrency_key_of,
    concurrency_key_of_run,
    job_columns,
    lane_of,
    target_of,
    timer_columns,
)
from sexton.jobs.timing import (
    check_bounds,
    first_occurrence,
    place_of,
    read_moment,
    read_schedule,
)
from sexton.jobs.validation import check_labels, check_spec, read_changes
from sexton.jobs.view import JobView
from sexton.jobs.zones import note_zones
from sexton.model import JobStatus, encode_id
from sexton.postgres.jsonb import json_or_null, json_text, json_value
from sexton.postgres.transaction import Context, command
from sexton.schedules import Schedule
from sexton.schedules.move import Move
from sexton.schedules.parse import Kind, delay_in, kind_of, takes_anchor, zone_in

KEEP: Any = msgspec.UNSET
RESCHEDULED, SKIPPED = "job.rescheduled", "job.skipped"


@command
async def edit(
    context: Context, ref: str, changes: Mapping[str, Any], *, expected_revision: int | None = None
) -> JobView:
    """Change some fields; null restores a default. The anchor stays unless it is given."""
    held = await hold(context, ref)
    _check_revision(held.job, expected_revision)
    spec = read_changes(_editable(held.job.spec, changes), changes)
    return await _change(context, held, spec, action="job.edited")


@command
async def replace(
    context: Context,
    name: str,
    spec: JobSpec,
    *,
    expected_revision: int | None = None,
    app: str | None = KEEP,
    declaration: str | None = KEEP,
) -> tuple[JobView, bool]:
    """Give the live job of this name this definition, or create it. Returns the job, and whether it is
    new."""
    spec = check_spec(spec)
    while (held := await _held_by_name(context, name)) is None:
        if expected_revision is not None:
            raise Conflict("revision_conflict", f"there is no job {name}", hint="leave If-Match out")
        number = await insert(context, spec, app or None, declaration or None)
        if number is not None:
            return await view(context, number, fresh=True), True
        # Another transaction has just created a job of this name: replace that one.
    _check_revision(held.job, expected_revision)
    spec = _keeping_anchor(spec, held.job)
    return await _change(context, held, spec, app, declaration, action="job.replaced"), False


@command
async def reschedule(
    context: Context, ref: str, at: datetime | str, *, expected_revision: int | None = None
) -> JobView:
    """Move the next occurrence to another time. The schedule continues after that time; occurrences in
    between are recorded as rescheduled and do not run. A single time that has come but has not fired can be
    moved too."""
    held = await hold(context, ref)
    job = held.job
    _check_revision(job, expected_revision)
    if held.timer is None:
        raise completed(ref)
    to = read_moment(at, str(job.row["timezone"]), held.now)
    if job.schedule.kind == Kind.ONCE:
        changes = {"schedule": iso(to)}
        spec = read_changes(_editable(job.spec, changes), changes)
        return await _change(context, held, spec, action=RESCHEDULED, moving=True)
    next_at = job.schedule.next_after(held.now)
    if next_at is None:
        raise completed(ref)
    to = whole_second(to)  # rules have no fractions of seconds
    check_bounds(to, job.spec)
    if to == next_at:
        return await view(context, job.id)
    move = Move(held.now, place_of(job.schedule, next_at, held.now), to)
    return await _change(context, held, _editable(job.spec, {}), action=RESCHEDULED, move=move)


@command
async def skip_next(
    context: Context, ref: str, *, at: datetime | None = None, expected_revision: int | None = None
) -> JobView:
    """Skip the next occurrence; the schedule continues after it. With `at`, only if that is the next
    occurrence, so that a repeated request skips one only."""
    held = await hold(context, ref)
    job = held.job
    _check_revision(job, expected_revision)
    next_at = None if held.timer is None else job.schedule.next_after(held.now)
    if next_at is None:
        raise completed(ref)
    if at is not None and at != next_at:
        raise Conflict(
            "not_next",
            f"{iso(at)} is not the next occurrence of {ref}: that is {iso(next_at)}",
            hint="read the job again, and give that time",
        )
    to = job.schedule.next_after(next_at)
    if to is None:
        raise Conflict(
            "last_occurrence",
            f"job {ref} has no occurrence after {iso(next_at)}",
            hint=f"pause or delete it: sexton jobs pause {quote(ref)}",
        )
    move = Move(held.now, place_of(job.schedule, next_at, held.now), to, skip=True)
    return await _change(context, held, _editable(job.spec, {}), action=SKIPPED, move=move)


async def relabel_all(
    context: Context, jobs: Sequence[LockedJob], labels: Mapping[str, str | None]
) -> list[Verdict]:
    """Add these labels to locked jobs; a label that is None is removed. This edits many jobs together."""
    check_labels(labels)
    after = {held.job.id: _relabelled(held.job.spec.labels, labels) for held in jobs}
    changed = [
        held
        for held in jobs
        if held.job.spec.labels != after[held.job.id] and len(after[held.job.id]) <= MOST_LABELS
    ]
    if changed:
        now, changing = changed[0].now, numbers(changed)
        await context.execute("jobs/keep_revision", job_ids=changing, now=now)
        await move_timers(context, [held for held in changed if held.timer is not None], edits=1)
        await context.execute(
            "jobs/relabel",
            job_ids=changing,
            labels=[json_text(after[number]) if after[number] else None for number in changing],
            revisions=[held.job.revision + 1 for held in changed],
            now=now,
        )
        shown = after[changed[0].job.id] if len(changed) == 1 else labels
        tell(
            context,
            "job.edited",
            changed,
            {"labels": shown},
            before=lambda held: {"labels": held.job.spec.labels},
        )
    return [_labels_verdict(held, after[held.job.id]) for held in jobs]


def _relabelled(before: Mapping[str, str], labels: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**before, **labels}.items() if value is not None}


def _labels_verdict(held: LockedJob, labels: Mapping[str, str]) -> Verdict:
    if len(labels) > MOST_LABELS:
        message, hint = f"job {held.ref} would have {len(labels)} labels", f"at most {MOST_LABELS}"
        return InvalidField("too_many", message, field="labels", hint=hint)
    return UNCHANGED if labels == held.job.spec.labels else DONE


def is_same(job: StoredJob, spec: JobSpec, now: datetime) -> bool:
    """Whether this definition equals that of the job."""
    spec = _keeping_anchor(spec, job)
    schedule, anchor = read_schedule(spec, now)
    return _same(job, job_columns(spec, _keeping_move(schedule, job), anchor))


async def _held_by_name(context: Context, name: str) -> LockedJob | None:
    """Lock the live job of this name. It may be deleted or renamed while this waits for the lock."""
    while True:
        number = await context.fetchval("jobs/find", name=name)
        if number is None:
            return None
        held = await hold(context, encode_id("j", number), deleted=True)
        if held.job.status != JobStatus.DELETED and held.job.row["name"] == name:
            return held


async def _change(
    context: Context,
    held: LockedJob,
    spec: JobSpec,
    app: str | None = KEEP,
    declaration: str | None = KEEP,
    *,
    action: str,
    move: Move | None = None,
    moving: bool = False,
) -> JobView:
    """Change the definition, if the new one differs. A moved occurrence stays moved, unless `move` is given
    or the rule changes."""
    job = held.job
    if spec.payload != job.spec.payload:
        check_payload_size(context, spec.payload, held.payload_bytes)
    schedule, anchor = read_schedule(spec, held.now)
    schedule = _keeping_move(schedule, job) if move is None else schedule.moved(move)
    columns = job_columns(spec, schedule, anchor)
    columns["moved"] = json_or_null(schedule.move)
    columns["app"] = job.row["app"] if app is KEEP else app
    columns["declaration"] = job.row["declaration"] if declaration is KEEP else declaration
    changed = not _same(job, columns)
    if changed:
        if columns["target"] != json_text(target_of(job.spec)):
            await check_handler(context, lane_of(spec))
        lane = await lane_id(context, lane_of(spec))
        if schedule.timezone != job.row["timezone"]:
            await note_zones(context, [schedule.timezone])
        moved = schedule.timing_key != _timing_key(job)
        # A smaller max_runs may complete the job now.
        close = moved or spec.max_runs != job.spec.max_runs
        [done] = await account(context, [held], close=close, moving=moving)
        next_at, fired = _go_on(held, spec, schedule, done, moved)
        await context.execute("jobs/keep_revision", job_ids=[job.id], now=held.now)
        await _write(context, held, columns)
        await _edit_runs(context, job, spec, lane)
        await _place(context, held, spec, schedule, lane, next_at, fired)
    after = await view(context, job.id)
    if changed:
        _tell(context, action, held, after, columns)
    return after


def _tell(context: Context, action: str, held: LockedJob, after: JobView, columns: Mapping[str, Any]) -> None:
    """For the audit."""
    job = held.job
    row = {**job.row, **columns}
    states = [
        {**msgspec.structs.asdict(each.spec), "app": each.row["app"], "declaration": each.row["declaration"]}
        for each in (job, StoredJob(row))
    ]
    states[0]["status"], states[1]["status"] = job.status, after.status
    if action in (RESCHEDULED, SKIPPED):
        states[0]["next_run_at"] = None if held.timer is None else held.timer["scheduled_at"]
        states[1]["next_run_at"] = after.next_run_at
    before, now = states
    context.changed(
        action,
        job.job_id,
        after.name,
        before=before,
        after=now,
        job_id=job.id,
        detail={"revision": after.revision},
    )


def _timing_key(job: StoredJob) -> str | None:
    """None if the schedule cannot be computed, so that any other schedule is a change."""
    try:
        return job.schedule.timing_key
    except ScheduleError:
        return None


def _go_on(
    held: LockedJob, spec: JobSpec, schedule: Schedule, done: Accounted, moved: bool
) -> tuple[datetime | None, int]:
    """The next occurrence under the new definition, and the number of occurrences that fired."""
    fired = done.fired_count
    if moved:
        next_at: datetime | None = first_occurrence(spec, schedule, held.now)
    elif held.timer is None and spec.max_runs != held.job.spec.max_runs:
        next_at = schedule.next_after(held.now)
    else:
        next_at = done.next_at
    if spec.max_runs is not None and fired >= spec.max_runs:
        if not moved or held.timer is not None:
            return None, fired
        fired = 0  # a completed job that gets another schedule starts again
    return next_at, fired


async def _write(context: Context, held: LockedJob, columns: Mapping[str, Any]) -> None:
    try:
        async with context.open.transaction():
            await context.execute("jobs/edit", job_id=held.job.id, now=held.now, **columns)
    except asyncpg.UniqueViolationError:
        raise await name_taken(context, columns["name"]) from None


async def _edit_runs(context: Context, job: StoredJob, spec: JobSpec, lane: int) -> None:
    fired: dict[int, str] = {}
    if job.spec.idempotency_key_template or spec.idempotency_key_template:
        for run in await context.fetch("jobs/lock_unclaimed_runs", job_id=job.id):
            payload = job.spec.payload if run["payload"] is None else json_value(run["payload"])
            fired[run["id"]] = job.key_of(run["scheduled_at"], payload)
    own = await _own_concurrency_keys(context, job.id, spec)
    await context.execute(
        "jobs/edit_runs",
        job_id=job.id,
        revision=job.revision + 1,
        lane=lane,
        fired_ids=list(fired),
        fired_keys=list(fired.values()),
        concurrency_key=concurrency_key_of(spec, job.id),
        own_ids=list(own),
        own_keys=list(own.values()),
    )


async def _own_concurrency_keys(context: Context, job_id: int, spec: JobSpec) -> dict[int, str | None]:
    """The concurrency keys of waiting runs with their own payload, by run."""
    if spec.concurrency_key is None:
        return {}
    rows = await context.fetch("jobs/lock_own_payloads", job_id=job_id)
    return {row["id"]: concurrency_key_of_run(spec, job_id, json_value(row["payload"])) for row in rows}


async def _place(
    context: Context,
    held: LockedJob,
    spec: JobSpec,
    schedule: Schedule,
    lane: int,
    next_at: datetime | None,
    fired: int,
) -> None:
    """Set the timer to the next occurrence, or complete the job if there is none."""
    job = held.job
    if next_at is None:
        if held.timer is not None:
            await context.execute("jobs/complete", job_ids=[job.id], now=held.now)
        return
    timer = timer_columns(spec, schedule, job.id, next_at, lane)
    if job.status == JobStatus.PAUSED:
        timer["due_at"] = None
    await context.execute(
        "jobs/set_timer",
        job_id=job.id,
        shard=shard_of(job.id, held.shards),
        revision=job.revision + 1,
        fired_count=fired,
        horizon_seconds=HORIZON_SECONDS,
        now=held.now,
        **timer,
    )
    if held.timer is None:
        await set_status(context, [held], JobStatus.ACTIVE)


def _keeping_move(schedule: Schedule, job: StoredJob) -> Schedule:
    """The schedule with the moved occurrence of the job, if the rule is the same."""
    try:
        rule = job.schedule.moved(None)
    except ScheduleError:
        return schedule
    return schedule.moved(job.schedule.move) if schedule.timing_key == rule.timing_key else schedule


def _keeping_anchor(spec: JobSpec, job: StoredJob) -> JobSpec:
    if spec.anchor is None and takes_anchor(spec.schedule) and delay_in(spec.schedule) is None:
        return msgspec.structs.replace(spec, anchor=job.spec.anchor)
    return spec


def _same(job: StoredJob, columns: Mapping[str, Any]) -> bool:
    return all(_alike(name, job.row[name], value) for name, value in columns.items())


def _alike(name: str, stored: Any, value: Any) -> bool:
    """jsonb comes back with other spaces, and a uuid as an object."""
    if name in ("target", "payload", "options", "labels", "moved"):
        return bool(json_value(stored) == json_value(value))
    return bool(stored.hex == value if name == "timing_key" else stored == value)


def _editable(spec: JobSpec, changes: Mapping[str, Any]) -> JobSpec:
    """The fields that stay when `changes` are made. A new schedule text determines its kind, and its zone and
    start if it names them; `seconds` stays with cron lines only."""
    text = changes.get("schedule")
    if not isinstance(text, str):
        text = spec.schedule
    if text != spec.schedule:
        spec = msgspec.structs.replace(
            spec,
            kind=None,
            timezone=None if zone_in(text) else spec.timezone,
            seconds=spec.seconds if kind_of(text) is Kind.CRON else None,
        )
    counts = takes_anchor(text) and delay_in(text) is None
    return spec if counts else msgspec.structs.replace(spec, anchor=None)


def _check_revision(job: StoredJob, expected: int | None) -> None:
    if expected is not None and expected != job.revision:
        raise Conflict(
            "revision_conflict",
            f"job {job.job_id} is at revision {job.revision}, not {expected}: it was edited meanwhile",
            hint="read it again, and edit that",
        )
