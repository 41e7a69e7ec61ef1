"""How every change to jobs begins: lock the job rows, then the timers, then read the time.

One job and many jobs are changed by the same code: it takes locked jobs and returns a verdict for each.
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

# Schedulers are notified of a timer that is due within this time. It is longer than any wheel
# (`horizon_seconds` is at most an hour).
HORIZON_SECONDS = 3660.0
# An audit entry for many jobs keeps this many names.
NAMES_KEPT = 10

Lane = tuple[str, str, str, bool]

#: The result for one job: DONE, UNCHANGED, the id of the new run, or the error.
Verdict: TypeAlias = str | SextonError
DONE, UNCHANGED = "done", "unchanged"


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row and timer are locked. `ref` is the id or name that the caller gave. `timer` is None if
    the job is completed or deleted."""

    ref: str
    job: StoredJob
    timer: asyncpg.Record | None
    now: datetime
    shards: int
    #: Whether its namespace has a quota of runs, and the largest payload that it allows.
    metered: bool = False
    payload_bytes: int | None = None


async def find(context: Context, ref: str, *, deleted: bool = False) -> int:
    """The number of the job with this id or name. With `deleted`, a name that no live job has finds the
    deleted job that had it last."""
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
    """Lock a job and its timer. A deleted job is refused unless `deleted` is given."""
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
    """Lock the timers of jobs whose rows are already locked."""
    jobs = [StoredJob(dict(row)) for row in rows]
    found = await context.fetch("jobs/lock_timers", job_ids=[job.id for job in jobs])
    timers = {row["job_id"]: row for row in found}
    known = [found[0][name] for name in ("now", "shards", "metered", "payload_bytes")]
    return [LockedJob(job.job_id, job, timers.get(job.id), *known) for job in jobs]


def accept(verdict: Verdict) -> str:
    """Raise the error of a verdict, if it is one."""
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
    """Write to the audit what was done to locked jobs. One job gets an entry with both states; many jobs
    share one entry per namespace. `before` gives the earlier state, where the row has no columns with the
    names in `after`."""
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
    """Refuse a handler that several applications have, unless the target names the application."""
    if refused := await contested_lanes(context, [lane]):
        raise refused[lane]


async def contested_lanes(context: Context, lanes: Collection[Lane]) -> dict[Lane, InvalidField]:
    """The lanes whose handler several applications have, while the target names none of them."""
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
    """The ids of lanes of the namespace; new lanes are created."""
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
