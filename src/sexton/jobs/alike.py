"""Many jobs that each fire once and differ in a few fields. PostgreSQL makes their rows from one pattern and
arrays of the fields that differ, which costs a third of what `bulk` does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.errors import RefusedLines, SextonError
from sexton.jobs.bulk import check_names, tell_shards
from sexton.jobs.change import HORIZON_SECONDS, NAMES_KEPT, contested_lanes, lane_ids
from sexton.jobs.payload import check_payload_size
from sexton.jobs.spec import JobSpec
from sexton.jobs.spread import shard_of
from sexton.jobs.stored import job_columns, lane_of, timer_columns
from sexton.jobs.timing import over, read_schedule
from sexton.jobs.validation import check_spec
from sexton.jobs.zones import note_zones
from sexton.postgres.jsonb import json_value
from sexton.postgres.migrate import shard_count
from sexton.postgres.transaction import Context, command
from sexton.refusal import MOST_LINES_NAMED
from sexton.schedules.key import timing_key_of
from sexton.security.quotas import take_jobs

#: Fields that each job has for itself, and fields that a pattern must not set.
OWN = ("name", "schedule", "payload", "description", "owner")
NOT_ALIKE = (
    "anchor", "starts_at", "ends_at", "exclude", "max_runs", "jitter_seconds", "concurrency_key",
    "idempotency_key_template", "missed_window",
)  # fmt: skip


class SingleJob(NamedTuple):
    """The fields in which a job differs from the pattern. Refusals name its `line`."""

    line: int
    name: str
    at: datetime
    payload: str | None
    description: str | None
    owner: str | None


@command
async def create_alike(context: Context, pattern: JobSpec, jobs: Sequence[SingleJob]) -> list[int]:
    """Create all of these jobs or none; returns their numbers in order. Raises `RefusedLines`. The caller has
    checked names and texts."""
    [known] = await context.fetch("jobs/prepare_many", count=len(jobs))
    now: datetime = known["now"]
    pattern = _checked(pattern, jobs[0])
    _refuse_past(jobs, now)
    if (limit := known["payload_bytes"]) is not None:
        largest = max(jobs, key=lambda job: len(job.payload or ""))
        check_payload_size(context, msgspec.json.decode(largest.payload or "null"), limit)
    lane = lane_of(pattern)
    if refused := await contested_lanes(context, {lane}):
        raise RefusedLines([(jobs[0].line, refused[lane])])
    if known["jobs_quota"] is not None:
        await take_jobs(context, len(jobs))
    lanes = await lane_ids(context, {lane})
    shards = await shard_count(context.database, context.open)
    ids: list[int] = known["ids"]
    schedule, anchor = read_schedule(pattern, now)
    job = job_columns(pattern, schedule, anchor)
    timer = timer_columns(pattern, schedule, ids[0], jobs[0].at, lanes[lane])
    try:
        async with context.open.transaction():
            await context.execute(
                "jobs/create_alike",
                now=now,
                ids=ids,
                shards=[shard_of(number, shards) for number in ids],
                names=[each.name for each in jobs],
                times=[iso(each.at) for each in jobs],
                keys=[timing_key_of(each.at) for each in jobs],
                payloads=[each.payload for each in jobs],
                descriptions=[each.description for each in jobs],
                owners=[each.owner for each in jobs],
                **{name: job[name] for name in ("kind", "timezone", "target", "options", "labels")},
                **{name: timer[name] for name in ("lane", "priority", "overlap", "expires_seconds")},
                grace_seconds=timer["grace_seconds"],
            )
    except asyncpg.UniqueViolationError:
        await check_names(context, [(each.line, each.name) for each in jobs])
        raise
    await note_zones(context, {schedule.timezone})
    soon = {
        shard_of(number, shards)
        for number, each in zip(ids, jobs, strict=True)
        if (each.at - now).total_seconds() <= HORIZON_SECONDS
    }
    await tell_shards(context, soon)
    names = [each.name for each in jobs[:NAMES_KEPT]]
    context.changed("job.created", jobs=ids, detail={"count": len(jobs), "names": names, "app": None})
    return ids


def _checked(pattern: JobSpec, first: SingleJob) -> JobSpec:
    """The specification of the first job, checked like any other."""
    defaults = JobSpec(name="", schedule="")
    odd = [name for name in NOT_ALIKE if getattr(pattern, name) != getattr(defaults, name)]
    if odd:
        raise ValueError(f"jobs with {odd[0]} are not alike")
    own = {"name": first.name, "schedule": iso(first.at), "description": first.description}
    payload = json_value(first.payload)
    return check_spec(msgspec.structs.replace(pattern, payload=payload, owner=first.owner, **own))


def _refuse_past(jobs: Sequence[SingleJob], now: datetime) -> None:
    errors: list[tuple[int, SextonError]] = [
        (each.line, over(each.at, now)) for each in jobs if each.at <= now
    ]
    if errors:
        raise RefusedLines(errors[:MOST_LINES_NAMED])
