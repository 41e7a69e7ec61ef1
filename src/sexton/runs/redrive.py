"""Dead letters: dig them up, or let them go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.jobs.change import NAMESPACE, find, within
from sexton.jobs.stored import StoredJob, concurrency_key_of_run
from sexton.model import decode_id, encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context
from sexton.refusal import not_found

CHUNK = 1000


async def redrive(
    database: Database,
    run_id: str,
    *,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> str:
    """Run a dead letter again, with the job as it is now and all its attempts; the id of the new run."""

    async def work(inside: Connection) -> str:
        found = await _one(database, inside, run_id)
        if not found["has_job"]:
            raise Conflict(
                "job_gone", f"the job of {run_id} is gone: it cannot be run again", hint="discard it"
            )
        moment = now or await inside.fetchval("select clock_timestamp()")
        (made,) = await _redrive(database, inside, [found], [moment])
        return encode_id("r", made["id"])

    return await within(database, connection, work)


async def redrive_many(
    database: Database,
    *,
    job: str | None = None,
    error_group: str | None = None,
    reason: str | None = None,
    before: datetime | None = None,
    rate: float | None = None,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> int:
    """Run again all that match, the oldest first, at most `rate` per second if that is given; how many."""
    if rate is not None and not rate > 0:
        raise InvalidField("out_of_range", f"rate is {rate}", field="rate", hint="give runs per second")
    step = timedelta(seconds=1 / rate) if rate else timedelta(0)

    async def some(inside: Connection, rows: Sequence[asyncpg.Record], done: int, start: datetime) -> None:
        available = [start + (done + place) * step for place in range(len(rows))]
        await _redrive(database, inside, rows, available)

    return await _by_chunks(
        database, connection, some, job, error_group, reason, before, namespace, now, with_job=True
    )


async def discard(database: Database, run_id: str, *, connection: Connection | None = None) -> None:
    """Forget a dead letter. That the run died stays in the history."""

    async def work(inside: Connection) -> None:
        found = await _one(database, inside, run_id)
        await inside.execute(database.statement("discard"), [found["run_id"]])

    await within(database, connection, work)


async def discard_many(
    database: Database,
    *,
    job: str | None = None,
    error_group: str | None = None,
    reason: str | None = None,
    before: datetime | None = None,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> int:
    """Forget all that match; how many."""

    async def some(inside: Connection, rows: Sequence[asyncpg.Record], _done: int, _start: datetime) -> None:
        await inside.execute(database.statement("discard"), [row["run_id"] for row in rows])

    return await _by_chunks(
        database, connection, some, job, error_group, reason, before, namespace, now, with_job=False
    )


Step = Callable[[Connection, Sequence[asyncpg.Record], int, datetime], Awaitable[None]]


async def _by_chunks(
    database: Database,
    connection: Connection | None,
    step: Step,
    job: str | None,
    error_group: str | None,
    reason: str | None,
    before: datetime | None,
    namespace: str,
    now: datetime | None,
    *,
    with_job: bool,
) -> int:
    """Each chunk is a transaction; what dies meanwhile is left for the next time."""

    async def start(inside: Connection) -> tuple[datetime, int | None]:
        moment = now or await inside.fetchval("select clock_timestamp()")
        return moment, None if job is None else await find(
            Context(database, namespace, connection=inside), job
        )

    moment, number = await within(database, connection, start)
    until = moment if before is None else min(before, moment)
    done = 0

    async def work(inside: Connection) -> int:
        rows = await inside.fetch(
            database.statement("choose_dead"), None, number, error_group, reason, until, with_job, CHUNK
        )
        if rows:
            await step(inside, rows, done, moment)
        return len(rows)

    while True:
        handled = await within(database, connection, work)
        done += handled
        if handled < CHUNK:
            return done


async def _one(database: Database, connection: Connection, run_id: str) -> asyncpg.Record:
    number = decode_id("r", run_id)
    found = number is not None and await connection.fetchrow(
        database.statement("choose_dead"), number, None, None, None, None, False, 1
    )
    if not found:
        raise not_found("dead letter", run_id)
    return found


async def _redrive(
    database: Database,
    connection: Connection,
    rows: Sequence[asyncpg.Record],
    available: Sequence[datetime],
) -> list[asyncpg.Record]:
    jobs = await _definitions(database, connection, rows)
    keys = [row["idempotency_key"] or _key(jobs[row["job_id"], row["revision"]], row) for row in rows]
    ids = [row["run_id"] for row in rows]
    crowds = await _concurrency_keys(database, connection, rows)
    return await connection.fetch(database.statement("redrive"), ids, keys, list(available), crowds)


async def _concurrency_keys(
    database: Database, connection: Connection, rows: Sequence[asyncpg.Record]
) -> list[str | None]:
    """Under the jobs as they are now, as their lanes are."""
    found = await connection.fetch(database.statement("keyed_jobs"), list({row["job_id"] for row in rows}))
    jobs = {row["id"]: StoredJob(dict(row)) for row in found}
    return [
        concurrency_key_of_run(jobs[row["job_id"]].spec, row["job_id"], _payload(jobs[row["job_id"]], row))
        if row["job_id"] in jobs
        else None
        for row in rows
    ]


async def _definitions(
    database: Database, connection: Connection, rows: Sequence[asyncpg.Record]
) -> dict[tuple[int, int], StoredJob]:
    """The jobs as they were when these runs were fired: an edit since must not change their keys."""
    wanted = {(row["job_id"], row["revision"]) for row in rows if row["idempotency_key"] is None}
    if not wanted:
        return {}
    jobs, revisions = zip(*wanted, strict=True)
    found = await connection.fetch(database.statement("definitions"), jobs, revisions)
    return {
        (row["job_id"], row["revision"]): StoredJob(msgspec.json.decode(row["definition"])) for row in found
    }


def _key(job: StoredJob, row: asyncpg.Record) -> str:
    return job.key_of(row["scheduled_at"], _payload(job, row))


def _payload(job: StoredJob, row: asyncpg.Record) -> Any:
    return job.spec.payload if row["payload"] is None else msgspec.json.decode(row["payload"])
