"""How every change to a job is made: one transaction, locks in one order, the time read once they are held.

A command takes the connection of a transaction that is open already, if its caller writes something in the
same one (the answer to a request with an Idempotency-Key).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import asyncpg

from sexton.errors import Conflict, NotFound
from sexton.jobs.stored import Stored
from sexton.model import decode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.partitions import make_missing

NAMESPACE = "default"
# A timer due sooner than this is announced: more than any wheel holds (`horizon_seconds` is at most an hour).
HORIZON_SECONDS = 3660.0
TRIES = 5

Lane = tuple[str, str, str, bool]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Held:
    """A job whose row and timer are locked. `timer` is None if it is completed or deleted."""

    job: Stored
    timer: asyncpg.Record | None
    now: datetime
    shards: int


async def within(
    database: Database, connection: Connection | None, work: Callable[[Connection], Awaitable[Result]]
) -> Result:
    """Do it in the caller's transaction, or in one of our own: there again if it met a deadlock. Where there
    is no partition to record something in, it is made, and it is done again."""
    if connection is not None:
        try:
            async with connection.transaction():
                return await work(connection)
        except asyncpg.CheckViolationError as error:
            await make_missing(database, error)
        async with connection.transaction():
            return await work(connection)
    for _ in range(TRIES - 1):
        try:
            async with database.transaction() as own:
                return await work(own)
        except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
            continue
        except asyncpg.CheckViolationError as error:
            await make_missing(database, error)
    async with database.transaction() as own:
        return await work(own)


async def find(database: Database, connection: Connection, ref: str, namespace: str) -> int:
    """The number of the job with this id or this name."""
    number = decode_id("j", ref)
    if number is None:
        number = await connection.fetchval(database.statement("find_jobs"), namespace, ref)
    if number is None:
        raise not_found(ref)
    return int(number)


async def hold(
    database: Database,
    connection: Connection,
    ref: str,
    namespace: str,
    now: datetime | None,
    *,
    deleted: bool = False,
) -> Held:
    """Lock a job and its timer. One that is deleted is refused, unless the caller can do with it."""
    number = await find(database, connection, ref, namespace)
    row = await connection.fetchrow(database.statement("lock_job"), number)
    if row is None or row["namespace"] != namespace:
        raise not_found(ref)
    if row["status"] == "deleted" and not deleted:
        if decode_id("j", ref) is None:
            raise not_found(ref)
        raise Conflict("job_deleted", f"job {ref} is deleted", hint="create it again")
    timer = await connection.fetchrow(database.statement("lock_timer"), number, now)
    assert timer is not None
    place = None if timer["job_id"] is None else timer
    return Held(Stored(dict(row)), place, timer["now"], timer["shards"])


async def lane_id(database: Database, connection: Connection, lane: Lane) -> int:
    return (await lane_ids(database, connection, [lane]))[lane]


async def lane_ids(database: Database, connection: Connection, lanes: Collection[Lane]) -> dict[Lane, int]:
    """Lanes by what they are, made if they are new."""
    found = await _find_lanes(database, connection, lanes)
    missing = [lane for lane in lanes if lane not in found]
    if missing:
        await connection.execute(database.statement("make_lanes"), *_columns(missing))
        found |= await _find_lanes(database, connection, missing)
    return found


async def _find_lanes(database: Database, connection: Connection, lanes: Collection[Lane]) -> dict[Lane, int]:
    rows = await connection.fetch(database.statement("find_lanes"), *_columns(lanes))
    return {(row["queue"], row["target"], row["handler"], row["keyed"]): row["id"] for row in rows}


def _columns(lanes: Collection[Lane]) -> list[list[str | bool]]:
    return [[lane[column] for lane in lanes] for column in range(4)]


def not_found(ref: Any) -> NotFound:
    return NotFound("job_not_found", f"there is no job {ref}", hint="see: sexton jobs list")
