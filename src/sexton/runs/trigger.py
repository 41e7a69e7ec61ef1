"""Runs beside the schedule: one now, or past occurrences again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from shlex import quote
from typing import Annotated, Any, NamedTuple

import msgspec

from sexton.clock import iso
from sexton.errors import Conflict, InvalidField, SextonError
from sexton.jobs.change import LockedJob, Verdict, accept, hold, lane_ids, tell
from sexton.jobs.payload import check_payload_size, encode_payload
from sexton.jobs.stored import concurrency_key_of, lane_of
from sexton.model import JobStatus, Overlap, encode_id
from sexton.postgres.transaction import Context, command
from sexton.refusal import about, aware, not_found
from sexton.runs.read import get_run, run_number
from sexton.security.quotas import Grant, take_runs
from sexton.targets.key import manual_key

LARGEST_BACKFILL = 10_000
MICROSECOND = timedelta(microseconds=1)


class Backfill(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill did, or with `dry_run` would do. Occurrences in `left_out` have a live run or have not
    fired."""

    job_id: Annotated[str, about("The job's id, `j_…`.")]
    dry_run: Annotated[bool, about("True if nothing was run.")]
    scheduled_at: Annotated[list[datetime], about("The occurrences that are run, or would be.")]
    left_out: Annotated[list[datetime], about("Occurrences that have a live run, or are yet to fire.")]
    run_ids: Annotated[list[str], about("The new runs, in order.")]
    warnings: Annotated[list[str], about("Warnings: what is allowed but probably not intended.")]


@command
async def run_now(context: Context, ref: str, *, payload: Any = msgspec.UNSET) -> str:
    """Run a job once, now, beside its schedule, with its own payload or the given one. Returns the run's
    id."""
    [made] = await run_all(context, [await hold(context, ref)], payload=payload)
    return accept(made)


@command
async def repeat(context: Context, run_id: int, *, payload: Any = msgspec.UNSET) -> tuple[str, str]:
    """Run the job of a run again, now, with the payload of that run or the given one. Returns the ids of the
    new run and the job."""
    found = await get_run(context, run_id)
    given = found.payload if payload is msgspec.UNSET else payload
    held = await hold(context, found.job_id)
    own = msgspec.UNSET if given == held.job.spec.payload else given
    [made] = await run_locked(context, [held], [own], {"again": encode_id("r", run_id)})
    return accept(made), found.job_id


async def run_all(
    context: Context, jobs: Sequence[LockedJob], *, payload: Any = msgspec.UNSET
) -> list[Verdict]:
    """Run each of these locked jobs once, now. Returns the ids of the runs, or errors."""
    given = {} if payload is msgspec.UNSET else {"payload": payload}
    return await run_locked(context, jobs, [payload] * len(jobs), given)


@command
async def run_each(context: Context, ref: str, payloads: Sequence[Any]) -> list[Verdict]:
    """Run a job now, once with each of these payloads. Returns the ids of the runs, or errors."""
    held = await hold(context, ref)
    return await run_locked(context, [held] * len(payloads), payloads, {"runs": len(payloads)})


async def run_locked(
    context: Context, jobs: Sequence[LockedJob], payloads: Sequence[Any], told: Mapping[str, Any]
) -> list[Verdict]:
    """Run locked jobs once each, now, with these payloads; a job may occur more than once. Returns the ids of
    the runs, or errors. `told` goes into the audit."""
    own = [None if payload is msgspec.UNSET else encode_payload(payload) for payload in payloads]
    taken = await _taken_slots(context, jobs)
    ids = await context.fetchval("recording/take_run_ids", count=len(jobs))
    made: list[Verdict] = []
    runs: list[_ManualRun] = []
    for held, run_id, payload, text in zip(jobs, ids, payloads, own, strict=True):
        try:
            if payload is not msgspec.UNSET:
                check_payload_size(context, payload, held.payload_bytes)
            run = _manual_run(held, run_id, taken.get(held.job.id, {}), payload, text)
            if run.slot is not None:
                taken.setdefault(held.job.id, {})[run.slot] = run_id
            runs.append(run)
            made.append(encode_id("r", run_id))
        except SextonError as error:
            made.append(error)
    grant = Grant(len(runs))
    if runs and runs[0].held.metered:
        grant = await take_runs(context, len(runs), jobs[0].now)
        over = {encode_id("r", run.run_id) for run in runs[grant.runs :]}
        made = [grant.refusal or each if each in over else each for each in made]
        runs = runs[: grant.runs]
    if not runs:
        return made
    stopping = [run.held.job.id for run in runs if run.stops]
    if stopping:
        await context.execute("recording/stop_running", job_ids=stopping, now=jobs[0].now)
    lanes = await _lanes(context, [run.held for run in runs])
    specs = [run.held.job.spec for run in runs]
    await context.execute(
        "recording/run_now",
        run_ids=[run.run_id for run in runs],
        job_ids=[run.held.job.id for run in runs],
        lanes=lanes,
        priorities=[spec.priority for spec in specs],
        available_at=grant.starts_of([jobs[0].now] * len(runs)),
        expires_seconds=[spec.expires_seconds for spec in specs],
        revisions=[run.held.job.revision for run in runs],
        slots=[run.slot for run in runs],
        keys=[run.key for run in runs],
        concurrency_keys=[run.concurrency_key for run in runs],
        payloads=[run.payload for run in runs],
        now=jobs[0].now,
    )
    ids = [encode_id("r", run.run_id) for run in runs]
    detail = {"run_id": ids[0]} if len(ids) == 1 else {"first_run_id": ids[0], "last_run_id": ids[-1]}
    different = {run.held.job.id: run.held for run in runs}
    tell(context, "job.run", list(different.values()), {}, detail={**detail, **told})
    return made


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
    """Run the occurrences of a past range (both ends included) again, with the present definition of the job,
    after all other runs; at most `rate` per second if it is given."""
    _check_range(start, end, limit)
    step = step_of(rate)
    held = await hold(context, ref)
    if end > held.now:
        hint = "give an end in the past: later occurrences fire by themselves"
        raise InvalidField("in_the_future", f"end, {iso(end)}, is in the future", field="end", hint=hint)
    found = _occurrences(held, start, end, limit)
    live = await context.fetch("reading/list_live_occurrences", job_id=held.job.id, scheduled_at=found)
    taken = {row["scheduled_at"] for row in live}
    if held.timer is not None:
        taken.update(at for at in found if at >= held.timer["scheduled_at"])
    wanted = [at for at in found if at not in taken]
    templated = held.job.spec.idempotency_key_template is not None
    made: list[Any] = []
    if wanted and not dry_run:
        available = [held.now + place * step for place in range(len(wanted))]
        if held.metered:
            grant = await take_runs(context, len(wanted), held.now)
            if grant.refusal is not None:
                raise grant.refusal
            available = grant.starts_of(available)
        made = await context.fetch(
            "recording/backfill",
            job_id=held.job.id,
            lane=(await _lanes(context, [held]))[0],
            revision=held.job.revision,
            scheduled_at=wanted,
            keys=[held.job.key_of(at) if templated else None for at in wanted],
            jitter_seconds=held.job.jitter.total_seconds(),
            available_at=available,
            concurrency_key=concurrency_key_of(held.job.spec, held.job.id),
        )
        detail = {"start": start, "end": end, "runs": len(made), "rate": rate}
        tell(context, "job.backfilled", [held], {}, detail=detail)
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
    """Cancel a run. Returns `cancelled` if it had not started, `requested` if it is running: its worker is
    asked to stop it."""
    number = run_number(run_id)
    found = await context.fetchrow(
        "recording/cancel_runs", run_ids=[number], reason=reason or "cancelled on request"
    )
    if found is not None:
        context.changed(
            "run.cancelled",
            run_id,
            found["name"],
            before={"status": found["state"]},
            after={"status": "cancelled" if found["outcome"] == "cancelled" else "asked to stop"},
            job_id=found["job_id"],
            reason=reason,
        )
        return str(found["outcome"])
    ended = await context.fetchval("reading/find_end", run_id=number)
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
        raise InvalidField(
            "out_of_range", f"rate is {rate}", field="rate", hint="give a number above 0: the runs per second"
        )
    return timedelta(seconds=1 / rate)


def _check_range(start: datetime, end: datetime, limit: int) -> None:
    aware(start, "start")
    aware(end, "end")
    if end < start:
        raise InvalidField(
            "bad_range", f"end, {iso(end)}, is before start, {iso(start)}", field="end", hint="swap them"
        )
    if not 1 <= limit <= LARGEST_BACKFILL:
        hint = f"give 1 to {LARGEST_BACKFILL}"
        raise InvalidField("out_of_range", f"limit is {limit}", field="limit", hint=hint)


class _ManualRun(NamedTuple):
    held: LockedJob
    run_id: int
    slot: int | None
    key: str
    concurrency_key: str | None
    payload: str | None

    @property
    def stops(self) -> bool:
        """Whether the live run is stopped for it."""
        return self.slot == 1 and self.held.job.spec.overlap is Overlap.CANCEL_RUNNING


def _manual_run(
    held: LockedJob, run_id: int, taken: Mapping[int, int], payload: Any, text: str | None
) -> _ManualRun:
    job, spec = held.job, held.job.spec
    key = manual_key(
        spec.idempotency_key_template,
        job_id=job.id,
        job_name=spec.name,
        scheduled_at=held.now,
        timezone=str(job.row["timezone"]),
        run_id=run_id,
        payload=spec.payload if payload is msgspec.UNSET else payload,
    )
    concurrency_key = concurrency_key_of(spec, job.id, payload)
    return _ManualRun(held, run_id, _slot(spec.overlap, taken), key, concurrency_key, text)


async def _taken_slots(context: Context, jobs: Sequence[LockedJob]) -> dict[int, dict[int, int]]:
    """Lock and return the runs in the slots of jobs whose runs must not overlap."""
    taken: dict[int, dict[int, int]] = {}
    single = [held.job.id for held in jobs if held.job.spec.overlap is not Overlap.ALLOW]
    if single:
        for row in await context.fetch("recording/lock_slots", job_ids=single):
            taken.setdefault(row["job_id"], {})[row["slot"]] = row["id"]
    return taken


def _slot(overlap: Overlap, taken: Mapping[int, int]) -> int | None:
    """The slot of the run, by the overlap of the job. Raises if both slots are taken."""
    if overlap is Overlap.ALLOW:
        return None
    if 0 not in taken:
        return 0
    if overlap is Overlap.SKIP or 1 in taken:
        live = encode_id("r", taken[0])
        raise Conflict(
            "overlap",
            f"run {live} is not over, and the job's overlap is {overlap.value}",
            hint=f"wait for it, or cancel it: sexton runs cancel {live}",
        )
    return 1


async def _lanes(context: Context, jobs: Sequence[LockedJob]) -> list[int]:
    """The lanes of the timers of these jobs; for a job without a timer, that of its definition."""
    missing = {lane_of(held.job.spec) for held in jobs if held.timer is None}
    found = await lane_ids(context, missing) if missing else {}
    return [
        int(held.timer["lane"]) if held.timer is not None else found[lane_of(held.job.spec)] for held in jobs
    ]


def _occurrences(held: LockedJob, start: datetime, end: datetime, limit: int) -> list[datetime]:
    found: list[datetime] = []
    for at in held.job.schedule.between(start - MICROSECOND, end):
        if len(found) == limit:
            raise InvalidField(
                "too_many",
                f"there are more than {limit} occurrences between {iso(start)} and {iso(end)}",
                field="end",
                hint=f"choose a shorter range, for example up to {iso(at)}",
            )
        found.append(at)
    return found


def _warnings(held: LockedJob) -> list[str]:
    warnings = []
    if held.job.spec.overlap is not Overlap.ALLOW:
        warnings.append("runs of a backfill may overlap, whatever the job says")
    if held.job.status == JobStatus.PAUSED:
        warnings.append("the job is paused: occurrences since the pause are left out until it is resumed")
    return warnings
