"""How every change to jobs begins: lock their rows, then their timers, then read the time.

What is done to one job and what is done to many is the same code: it takes locked jobs, and tells of each
what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

import asyncpg

from sexton.errors import Conflict, InvalidField, SextonError
from sexton.jobs.stored import StoredJob
from sexton.model import decode_id
from sexton.postgres.audit_entry import State
from sexton.postgres.transaction import Context
from sexton.refusal import not_found
from sexton.targets.handler import contested, full_name, is_shared

# A timer due sooner than this is announced: more than any wheel holds (`horizon_seconds` is at most an hour).
HORIZON_SECONDS = 3660.0
# Of many jobs, so many names are kept in the audit.
NAMES_KEPT = 10

Lane = tuple[str, str, str, bool]

#: What became of a job: DONE, UNCHANGED, the id of the run that was made, or why it was refused.
Verdict: TypeAlias = str | SextonError
DONE, UNCHANGED = "done", "unchanged"


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row and timer are locked. `ref` is how the caller names it. `timer` is None if it is
    completed or deleted."""

    ref: str
    job: StoredJob
    timer: asyncpg.Record | None
    now: datetime
    shards: int
    #: Whether its namespace has a quota of runs, and the largest payload that it allows.
    metered: bool = False
    payload_bytes: int | None = None


async def find(context: Context, ref: str, *, deleted: bool = False) -> int:
    """The number of the job with this id or this name. With `deleted`, a name that no job has leads to the
    job that had it last."""
    number = decode_id("j", ref)
    if number is not None:
        number = await context.fetchval("jobs/find_by_id", job_id=number)
    else:
        number = await context.fetchval("jobs/find", name=ref)
    if number is None and deleted:
        number = await context.fetchval("jobs/find_deleted", name=ref)
    if number is None:
        raise not_found("job", ref)
    return int(number)


async def hold(context: Context, ref: str, *, deleted: bool = False) -> LockedJob:
    """Lock a job and its timer. A deleted job is refused, unless the caller asks for it too."""
    number = await find(context, ref)
    rows = await context.fetch("jobs/lock", job_ids=[number])
    if not rows or rows[0]["namespace"] != context.namespace:
        raise not_found("job", ref)
    if rows[0]["status"] == "deleted" and not deleted:
        if decode_id("j", ref) is None:
            raise not_found("job", ref)
        raise Conflict("job_deleted", f"job {ref} is deleted", hint=f"restore it: sexton jobs restore {ref}")
    [held] = await hold_timers(context, rows)
    return replace(held, ref=ref)


async def hold_timers(context: Context, rows: Sequence[asyncpg.Record]) -> list[LockedJob]:
    """Lock the timers of jobs whose rows are locked already."""
    jobs = [StoredJob(dict(row)) for row in rows]
    found = await context.fetch("jobs/lock_timers", job_ids=[job.id for job in jobs])
    timers = {row["job_id"]: row for row in found}
    known = [found[0][name] for name in ("now", "shards", "metered", "payload_bytes")]
    return [LockedJob(job.job_id, job, timers.get(job.id), *known) for job in jobs]


def accept(verdict: Verdict) -> str:
    """Raise what one job was refused with."""
    if isinstance(verdict, SextonError):
        raise verdict
    return verdict


def numbers(jobs: Iterable[LockedJob]) -> list[int]:
    return [held.job.id for held in jobs]


def tell(
    context: Context,
    action: str,
    jobs: Sequence[LockedJob],
    after: State,
    *,
    before: Callable[[LockedJob], State] | None = None,
    reason: str | None = None,
    detail: State | None = None,
) -> None:
    """For the audit: what was done to locked jobs. One job has an entry with both states; many together have
    one in each of their namespaces. `before` tells what a job was, if its row does not say it by the names of
    `after`."""
    if len(jobs) == 1:
        [held] = jobs
        row = held.job.row
        context.changed(
            action,
            held.job.job_id,
            row["name"],
            before={name: row[name] for name in after} if before is None else before(held),
            after=after,
            job_id=held.job.id,
            namespace=row["namespace"],
            reason=reason,
            detail=detail,
        )
        return
    for namespace in sorted({held.job.row["namespace"] for held in jobs}):
        own = [held for held in jobs if held.job.row["namespace"] == namespace]
        names = [held.job.row["name"] for held in own[:NAMES_KEPT]]
        context.changed(
            action,
            after=after,
            jobs=numbers(own),
            namespace=namespace,
            reason=reason,
            detail={"count": len(own), "names": names, **(detail or {})},
        )


async def check_handler(context: Context, lane: Lane) -> None:
    """Refuse a handler that several applications have, if the target does not say which is meant."""
    if refused := await contested_lanes(context, [lane]):
        raise refused[lane]


async def contested_lanes(context: Context, lanes: Collection[Lane]) -> dict[Lane, InvalidField]:
    """The lanes of handlers that several applications have and whose target does not say which is meant."""
    shared = {lane[2] for lane in lanes if lane[1] == "handler" and is_shared(lane[2])}
    if not shared:
        return {}
    rows = await context.fetch("jobs/find_applications", handlers=list(shared))
    having = {row["handler"]: row["having"] for row in rows}
    return {
        lane: InvalidField(
            "ambiguous_handler",
            contested(lane[2], having[lane[2]]),
            field="target.handler",
            hint="write " + " or ".join(full_name(app, lane[2]) for app in having[lane[2]]),
        )
        for lane in lanes
        if lane[1] == "handler" and lane[2] in having
    }


async def lane_id(context: Context, lane: Lane) -> int:
    return (await lane_ids(context, [lane]))[lane]


async def lane_ids(context: Context, lanes: Collection[Lane]) -> dict[Lane, int]:
    """The ids of lanes of the namespace; those that are new are made."""
    found = await _find_lanes(context, lanes)
    missing = [lane for lane in lanes if lane not in found]
    if missing:
        await context.execute("jobs/make_lanes", **_columns(missing))
        found |= await _find_lanes(context, missing)
    return found


async def _find_lanes(context: Context, lanes: Collection[Lane]) -> dict[Lane, int]:
    rows = await context.fetch("jobs/find_lanes", **_columns(lanes))
    return {(row["queue"], row["target"], row["handler"], row["keyed"]): row["id"] for row in rows}


def _columns(lanes: Collection[Lane]) -> dict[str, list[str | bool]]:
    names = ("queues", "targets", "handlers", "keyed")
    return {name: [lane[column] for lane in lanes] for column, name in enumerate(names)}
