"""How every change to a job begins: lock its row, then its timer, then read the time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from sexton.errors import Conflict, InvalidField
from sexton.jobs.stored import StoredJob
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.refusal import not_found
from sexton.targets.handler import contested, full_name, is_shared

# A timer due sooner than this is announced: more than any wheel holds (`horizon_seconds` is at most an hour).
HORIZON_SECONDS = 3660.0

Lane = tuple[str, str, str, bool]


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row and timer are locked. `timer` is None if it is completed or deleted."""

    job: StoredJob
    timer: asyncpg.Record | None
    now: datetime
    shards: int


async def find(context: Context, ref: str, *, deleted: bool = False) -> int:
    """The number of the job with this id or this name. With `deleted`, a name that no job has leads to the
    job that had it last."""
    number = decode_id("j", ref)
    if number is not None:
        number = await context.fetchval("jobs/find_by_id", namespace=context.namespace, job_id=number)
    else:
        number = await context.fetchval("jobs/find", namespace=context.namespace, name=ref)
    if number is None and deleted:
        number = await context.fetchval("jobs/find_deleted", namespace=context.namespace, name=ref)
    if number is None:
        raise not_found("job", ref)
    return int(number)


async def hold(context: Context, ref: str, *, deleted: bool = False) -> LockedJob:
    """Lock a job and its timer. A deleted job is refused, unless the caller asks for it too."""
    number = await find(context, ref)
    row = await context.fetchrow("jobs/lock", job_id=number)
    if row is None or row["namespace"] != context.namespace:
        raise not_found("job", ref)
    if row["status"] == "deleted" and not deleted:
        if decode_id("j", ref) is None:
            raise not_found("job", ref)
        raise Conflict("job_deleted", f"job {ref} is deleted", hint="create it again")
    timer = await context.fetchrow("jobs/lock_timer", job_id=number, now=context.now)
    assert timer is not None
    place = None if timer["job_id"] is None else timer
    return LockedJob(StoredJob(dict(row)), place, timer["now"], timer["shards"])


async def check_handler(context: Context, lane: Lane) -> None:
    """Refuse a handler that several applications have, if the target does not say which is meant."""
    if refused := await contested_lanes(context, [lane]):
        raise refused[lane]


async def contested_lanes(context: Context, lanes: Collection[Lane]) -> dict[Lane, InvalidField]:
    """The lanes of handlers that several applications have and whose target does not say which is meant."""
    shared = {lane[2] for lane in lanes if lane[1] == "handler" and is_shared(lane[2])}
    if not shared:
        return {}
    rows = await context.fetch("jobs/find_applications", handlers=list(shared), now=context.now)
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
    """The ids of lanes; those that are new are made."""
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
