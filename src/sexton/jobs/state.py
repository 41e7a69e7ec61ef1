"""Pause, resume, delete."""

from __future__ import annotations

import logging
from datetime import datetime

from sexton.errors import Conflict, InvalidField, NotFound, Unavailable
from sexton.jobs.accounting import account
from sexton.jobs.change import HORIZON_SECONDS, NAMESPACE, LockedJob, hold, within
from sexton.jobs.read import view
from sexton.jobs.view import JobView
from sexton.model import JobStatus, encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context
from sexton.refusal import check_text

log = logging.getLogger("sexton")


async def pause(
    database: Database,
    ref: str,
    *,
    reason: str | None = None,
    until: datetime | None = None,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> JobView:
    """Stop firing. What has fired goes on; what falls due from here on is recorded as paused."""
    if reason is not None:
        check_text(reason, "reason", 1000)
    if until is not None and until.tzinfo is None:
        hint = "add Z or an offset"
        raise InvalidField("naive_time", f"{until.isoformat()} has no time zone", field="until", hint=hint)

    async def work(inside: Connection) -> JobView:
        held = await hold(Context(database, namespace, now=now, connection=inside), ref)
        if until is not None and until <= held.now:
            raise InvalidField(
                "in_the_past", "until is over already", field="until", hint="give a later time"
            )
        if held.timer is None:
            raise Conflict("job_completed", f"job {ref} is completed: it does not fire any more")
        if held.job.status == JobStatus.ACTIVE:
            done = await account(database, inside, held)
            if done.next_at is None:
                await inside.execute(database.statement("end_timer"), held.job.id, held.now)
                return await _shown(database, inside, held)
            await move(database, inside, held, done.next_at, done.fired_count, paused=True)
        await inside.execute(
            database.statement("set_status"), held.job.id, JobStatus.PAUSED.value, reason, until, held.now
        )
        return await _shown(database, inside, held)

    return await within(database, connection, work)


async def resume(
    database: Database,
    ref: str,
    *,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> JobView:
    """Go on. What fell due meanwhile is recorded as paused; a single time follows missed_window instead."""

    async def work(inside: Connection) -> JobView:
        held = await hold(Context(database, namespace, now=now, connection=inside), ref)
        if held.job.status == JobStatus.PAUSED:
            await go_on(database, inside, held)
        elif held.timer is None:
            hint = "give it another schedule to start it again"
            raise Conflict("job_completed", f"job {ref} is completed: it does not fire any more", hint=hint)
        return await _shown(database, inside, held)

    return await within(database, connection, work)


async def resume_due(database: Database, *, limit: int = 100, now: datetime | None = None) -> int:
    """Resume the jobs whose pause is over, each in a transaction of its own; how many there were."""
    async with database.connection() as connection:
        rows = await connection.fetch(database.statement("pauses_over"), now, limit)
    resumed = 0
    for row in rows:
        try:
            await resume(database, encode_id("j", row["id"]), namespace=row["namespace"], now=now)
            resumed += 1
        except (Conflict, NotFound):
            continue  # Somebody completed or deleted it since.
        except Unavailable:
            raise
        except Exception as error:
            # It must not keep the others from going on: it stays paused, and says why.
            log.exception("%s cannot be resumed", encode_id("j", row["id"]))
            reason = f"it could not be resumed: {error}"[:1000]
            await database.fetch("stay_paused", row["id"], reason)
    return resumed


async def delete(
    database: Database,
    ref: str,
    *,
    cancel_running: bool = False,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> None:
    """Free the name and remove the timer; cancel what waits, and with `cancel_running` what runs. The history
    stays. Deleting a deleted job by its id changes nothing."""

    async def work(inside: Connection) -> None:
        held = await hold(Context(database, namespace, now=now, connection=inside), ref, deleted=True)
        if held.job.status != JobStatus.DELETED:
            await account(database, inside, held, ending=True)
            await inside.execute(database.statement("delete_job"), held.job.id, held.now)
        await inside.fetchrow(
            database.statement("cancel_job"), held.job.id, cancel_running, "the job was deleted", now
        )

    await within(database, connection, work)


async def go_on(database: Database, connection: Connection, held: LockedJob) -> None:
    """From paused to active."""
    done = await account(database, connection, held)
    if done.next_at is None:
        await connection.execute(database.statement("end_timer"), held.job.id, held.now)
        return
    await move(database, connection, held, done.next_at, done.fired_count, paused=False)
    await connection.execute(
        database.statement("set_status"), held.job.id, JobStatus.ACTIVE.value, None, None, held.now
    )


async def move(
    database: Database, connection: Connection, held: LockedJob, at: datetime, fired: int, *, paused: bool
) -> None:
    """Put the timer to an occurrence; nothing else about it changes."""
    await connection.execute(
        database.statement("move_timer"),
        held.job.id,
        at,
        None if paused else at + held.job.jitter,
        fired,
        HORIZON_SECONDS,
        held.now,
    )


async def _shown(database: Database, connection: Connection, held: LockedJob) -> JobView:
    shown = await view(database, connection, held.job.id)
    assert shown is not None  # its row is locked
    return shown
