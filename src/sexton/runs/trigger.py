"""Runs beside the schedule: one now, or past occurrences once more."""

from __future__ import annotations

from datetime import datetime, timedelta
from shlex import quote
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sexton.errors import Conflict, InvalidField
from sexton.jobs.change import LockedJob, hold, lane_id
from sexton.jobs.payload import encode_payload
from sexton.jobs.stored import concurrency_key_of, lane_of
from sexton.model import JobStatus, Overlap, encode_id
from sexton.postgres.transaction import Context, command
from sexton.refusal import not_found
from sexton.runs.read import run_number
from sexton.targets.key import manual_key

LARGEST_BACKFILL = 10_000
MICROSECOND = timedelta(microseconds=1)


class Backfill(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill did, or with `dry_run` would do. `left_out` still have a run, or are yet to fire."""

    job_id: Annotated[str, Meta(description="The job's id, `j_…`.")]
    dry_run: Annotated[bool, Meta(description="True if nothing was run.")]
    scheduled_at: Annotated[list[datetime], Meta(description="The occurrences that are run, or would be.")]
    left_out: Annotated[
        list[datetime], Meta(description="Occurrences that have a live run, or are yet to fire.")
    ]
    run_ids: Annotated[list[str], Meta(description="The new runs, in order.")]
    warnings: Annotated[list[str], Meta(description="What is allowed but probably not meant.")]


@command
async def run_now(context: Context, ref: str, *, payload: Any = msgspec.UNSET) -> str:
    """Run a job once, now, beside its schedule; with a payload of its own if one is given. The run's id."""
    own = None if payload is msgspec.UNSET else encode_payload(payload)
    held = await hold(context, ref)
    slot = await _slot(context, held)
    run_id: int = await context.fetchval("recording/next_run_id")
    spec = held.job.spec
    key = manual_key(
        spec.idempotency_key_template,
        job_id=held.job.id,
        job_name=spec.name,
        scheduled_at=held.now,
        timezone=held.job.schedule.timezone,
        run_id=run_id,
        payload=spec.payload if payload is msgspec.UNSET else payload,
    )
    await context.execute(
        "recording/run_now",
        run_id=run_id,
        job_id=held.job.id,
        lane=await _lane(context, held),
        priority=spec.priority,
        now=held.now,
        expires_seconds=spec.expires_seconds,
        revision=held.job.revision,
        slot=slot,
        key=key,
        payload=own,
        concurrency_key=concurrency_key_of(spec, held.job.id, payload),
    )
    return encode_id("r", run_id)


@command
async def backfill(
    context: Context,
    ref: str,
    start: datetime,
    end: datetime,
    *,
    dry_run: bool = False,
    limit: int = LARGEST_BACKFILL,
    rate: float | None = None,
) -> Backfill:
    """Run the occurrences of a past range (both ends included) once more, with the job as it is now, behind
    everything else; at most `rate` per second if that is given."""
    _check_range(start, end, limit)
    step = step_of(rate)
    held = await hold(context, ref)
    if end > held.now:
        hint = "give an end that is past: what is to come fires by itself"
        raise InvalidField("in_the_future", "the range reaches into the future", field="end", hint=hint)
    found = _occurrences(held, start, end, limit)
    live = await context.fetch("reading/list_live_occurrences", job_id=held.job.id, scheduled_at=found)
    taken = {row["scheduled_at"] for row in live}
    if held.timer is not None:
        taken.update(at for at in found if at >= held.timer["scheduled_at"])
    wanted = [at for at in found if at not in taken]
    templated = held.job.spec.idempotency_key_template is not None
    made: list[Any] = []
    if wanted and not dry_run:
        made = await context.fetch(
            "recording/backfill",
            job_id=held.job.id,
            lane=await _lane(context, held),
            revision=held.job.revision,
            scheduled_at=wanted,
            keys=[held.job.key_of(at) if templated else None for at in wanted],
            jitter_seconds=held.job.jitter.total_seconds(),
            available_at=[held.now + place * step for place in range(len(wanted))],
            concurrency_key=concurrency_key_of(held.job.spec, held.job.id),
        )
    return Backfill(
        job_id=held.job.job_id,
        dry_run=dry_run,
        scheduled_at=wanted,
        left_out=[at for at in found if at in taken],
        run_ids=[encode_id("r", row["id"]) for row in made],
        warnings=_warnings(held),
    )


@command
async def cancel_run(context: Context, run_id: str, *, reason: str | None = None) -> str:
    """`cancelled` if the run was waiting, `requested` if it runs: its worker is asked to stop it."""
    number = run_number(run_id)
    outcome = await context.fetchval(
        "recording/cancel_run",
        namespace=context.namespace,
        run_id=number,
        reason=reason or "cancelled on request",
        now=context.now,
    )
    if outcome is not None:
        return str(outcome)
    ended = await context.fetchval("reading/find_end", run_id=number, namespace=context.namespace)
    if ended is None:
        raise not_found("run", run_id)
    raise Conflict(
        "run_ended", f"run {run_id} has ended already: {ended}", hint=f"see: sexton runs show {quote(run_id)}"
    )


def step_of(rate: float | None) -> timedelta:
    """The time between two runs at `rate` per second."""
    if rate is None:
        return timedelta(0)
    if not rate > 0:
        raise InvalidField("out_of_range", f"rate is {rate}", field="rate", hint="give runs per second")
    return timedelta(seconds=1 / rate)


def _check_range(start: datetime, end: datetime, limit: int) -> None:
    for field, at in (("start", start), ("end", end)):
        if at.tzinfo is None:
            hint = "add Z or an offset"
            raise InvalidField("naive_time", f"{at.isoformat()} has no time zone", field=field, hint=hint)
    if end < start:
        raise InvalidField("bad_range", "the end is before the start", field="end", hint="swap them")
    if not 1 <= limit <= LARGEST_BACKFILL:
        hint = f"give 1 to {LARGEST_BACKFILL}"
        raise InvalidField("out_of_range", f"limit is {limit}", field="limit", hint=hint)


async def _slot(context: Context, held: LockedJob) -> int | None:
    """The run's slot, as the job's overlap has it; refused if both are taken."""
    overlap = held.job.spec.overlap
    if overlap is Overlap.ALLOW:
        return None
    taken = {row["slot"]: row for row in await context.fetch("recording/lock_slots", job_id=held.job.id)}
    if 0 not in taken:
        return 0
    if overlap is Overlap.SKIP or 1 in taken:
        live = encode_id("r", taken[0]["id"])
        raise Conflict(
            "overlap",
            f"run {live} is not over, and the job's overlap is {overlap.value}",
            hint=f"wait for it, or cancel it: sexton runs cancel {live}",
        )
    if overlap is Overlap.CANCEL_RUNNING:
        await context.execute("recording/stop_running", job_id=held.job.id, now=held.now)
    return 1


async def _lane(context: Context, held: LockedJob) -> int:
    if held.timer is not None:
        return int(held.timer["lane"])
    return await lane_id(context, lane_of(held.job.spec))


def _occurrences(held: LockedJob, start: datetime, end: datetime, limit: int) -> list[datetime]:
    found: list[datetime] = []
    for at in held.job.schedule.between(start - MICROSECOND, end):
        if len(found) == limit:
            raise InvalidField(
                "too_many",
                f"there are more than {limit} occurrences between {start.isoformat()} and {end.isoformat()}",
                field="end",
                hint=f"choose a shorter range, for example up to {at.isoformat()}",
            )
        found.append(at)
    return found


def _warnings(held: LockedJob) -> list[str]:
    warnings = []
    if held.job.spec.overlap is not Overlap.ALLOW:
        warnings.append("runs of a backfill may overlap, whatever the job says")
    if held.job.status == JobStatus.PAUSED:
        warnings.append("the job is paused: what came since is left out until it is resumed")
    return warnings
