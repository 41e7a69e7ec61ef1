"""Runs beside the schedule: one now, or past occurrences once more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sexton.errors import Conflict, InvalidField
from sexton.jobs.change import NAMESPACE, LockedJob, hold, lane_id, within
from sexton.jobs.payload import encode_payload
from sexton.jobs.stored import concurrency_key_of, lane_of
from sexton.model import JobStatus, Overlap, decode_id, encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context
from sexton.refusal import not_found
from sexton.targets.template import manual_key

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


async def run_now(
    database: Database,
    ref: str,
    *,
    payload: Any = msgspec.UNSET,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> str:
    """Run a job once, now, beside its schedule; with a payload of its own if one is given. The run's id."""
    own = None if payload is msgspec.UNSET else encode_payload(payload)

    async def work(inside: Connection) -> str:
        held = await hold(Context(database, namespace, now=now, connection=inside), ref)
        slot = await _slot(database, inside, held)
        run_id: int = await inside.fetchval(database.statement("next_run_id"))
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
        await inside.execute(
            database.statement("run_now"),
            run_id,
            held.job.id,
            await _lane(database, inside, held),
            spec.priority,
            held.now,
            spec.expires_seconds,
            held.job.revision,
            slot,
            key,
            own,
            concurrency_key_of(spec, held.job.id, payload),
        )
        return encode_id("r", run_id)

    return await within(database, connection, work)


async def backfill(
    database: Database,
    ref: str,
    start: datetime,
    end: datetime,
    *,
    dry_run: bool = False,
    limit: int = LARGEST_BACKFILL,
    rate: float | None = None,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> Backfill:
    """Run the occurrences of a past range (both ends included) once more, with the job as it is now, behind
    everything else; at most `rate` per second if that is given."""
    for field, moment in (("start", start), ("end", end)):
        if moment.tzinfo is None:
            hint = "add Z or an offset"
            raise InvalidField("naive_time", f"{moment.isoformat()} has no time zone", field=field, hint=hint)
    if end < start:
        raise InvalidField("bad_range", "the end is before the start", field="end", hint="swap them")
    if not 1 <= limit <= LARGEST_BACKFILL:
        hint = f"give 1 to {LARGEST_BACKFILL}"
        raise InvalidField("out_of_range", f"limit is {limit}", field="limit", hint=hint)
    if rate is not None and not rate > 0:
        raise InvalidField("out_of_range", f"rate is {rate}", field="rate", hint="give runs per second")

    async def work(inside: Connection) -> Backfill:
        held = await hold(Context(database, namespace, now=now, connection=inside), ref)
        if end > held.now:
            hint = "give an end that is past: what is to come fires by itself"
            raise InvalidField("in_the_future", "the range reaches into the future", field="end", hint=hint)
        found = _occurrences(held, start, end, limit)
        busy = await inside.fetch(database.statement("live_occurrences"), held.job.id, found)
        taken = {row["scheduled_at"] for row in busy}
        if held.timer is not None:
            taken.update(at for at in found if at >= held.timer["scheduled_at"])
        wanted = [at for at in found if at not in taken]
        templated = held.job.spec.idempotency_key_template is not None
        ids: list[Any] = []
        if wanted and not dry_run:
            step = timedelta(seconds=1 / rate) if rate else timedelta(0)
            ids = await inside.fetch(
                database.statement("backfill"),
                held.job.id,
                await _lane(database, inside, held),
                held.job.revision,
                wanted,
                [held.job.key_of(at) if templated else None for at in wanted],
                held.job.jitter.total_seconds(),
                [held.now + place * step for place in range(len(wanted))],
                concurrency_key_of(held.job.spec, held.job.id),
            )
        return Backfill(
            job_id=held.job.job_id,
            dry_run=dry_run,
            scheduled_at=wanted,
            left_out=[at for at in found if at in taken],
            run_ids=[encode_id("r", row["id"]) for row in ids],
            warnings=_warnings(held),
        )

    return await within(database, connection, work)


async def cancel_run(
    database: Database,
    run_id: str,
    *,
    reason: str | None = None,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> str:
    """`cancelled` if the run was waiting, `requested` if it runs: its worker is asked to stop it."""
    number = decode_id("r", run_id)

    async def work(inside: Connection) -> str:
        row = await inside.fetchrow(
            database.statement("cancel_run"), number, reason or "cancelled on request", now
        )
        if row is not None:
            return str(row["outcome"])
        ended = await inside.fetchval(database.statement("ended_run"), number)
        if ended is None:
            raise not_found("run", run_id)
        raise Conflict(
            "run_ended", f"run {run_id} has ended already: {ended}", hint=f"see: sexton runs show {run_id}"
        )

    if number is None:
        raise not_found("run", run_id)
    return await within(database, connection, work)


async def _slot(database: Database, connection: Connection, held: LockedJob) -> int | None:
    """Where the run goes, as the job's overlap has it; refused if there is no room."""
    overlap = held.job.spec.overlap
    if overlap is Overlap.ALLOW:
        return None
    taken = {row["slot"]: row for row in await connection.fetch(database.statement("slots"), held.job.id)}
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
        await connection.execute(database.statement("stop_running"), held.job.id, held.now)
    return 1


async def _lane(database: Database, connection: Connection, held: LockedJob) -> int:
    if held.timer is not None:
        return int(held.timer["lane"])
    return await lane_id(Context(database, connection=connection), lane_of(held.job.spec))


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
