"""Edits: PATCH and PUT.

In one transaction the old definition is kept as a revision, everything up to now is accounted for under it,
and the timer goes on, one revision later, strictly after the last occurrence that was accounted for. A firing
that was planned before finds another revision and does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.errors import Conflict, ScheduleError
from sexton.jobs.accounting import Accounted, account
from sexton.jobs.change import HORIZON_SECONDS, NAMESPACE, LockedJob, hold, lane_id, within
from sexton.jobs.create import NameTaken, insert
from sexton.jobs.payload import encode_payload
from sexton.jobs.read import view
from sexton.jobs.spec import JobSpec
from sexton.jobs.stored import (
    StoredJob,
    concurrency_key_of,
    concurrency_key_of_run,
    decoded,
    encoded,
    grace_of,
    jitter,
    lane_of,
    normal,
    options_of,
    overlap_of,
    target_of,
)
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import check_spec, read_changes
from sexton.jobs.view import JobView
from sexton.jobs.zones import note_zones
from sexton.model import JobStatus, encode_id, shard_of
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context
from sexton.schedules import Schedule

KEEP: Any = msgspec.UNSET


async def edit(
    database: Database,
    ref: str,
    changes: Mapping[str, Any],
    *,
    expected_revision: int | None = None,
    namespace: str = NAMESPACE,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> JobView:
    """Change some fields; null puts one back to its default. The anchor stays, unless it is given."""

    async def work(inside: Connection) -> JobView:
        held = await hold(Context(database, namespace, now=now, connection=inside), ref)
        _check_revision(held.job, expected_revision)
        spec = read_changes(_editable(held.job.spec, changes), changes)
        return await change(database, inside, held, spec)

    return await within(database, connection, work)


async def replace(
    database: Database,
    name: str,
    spec: JobSpec,
    *,
    expected_revision: int | None = None,
    namespace: str = NAMESPACE,
    app: str | None = KEEP,
    declaration: str | None = KEEP,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> tuple[JobView, bool]:
    """Make the live job of this name be so, or create it; also whether it was created."""
    check_spec(spec)

    async def work(inside: Connection) -> tuple[JobView, bool]:
        while True:
            held = await _held_by_name(database, inside, name, namespace, now)
            if held is None:
                if expected_revision is not None:
                    raise Conflict("revision_conflict", f"there is no job {name}", hint="leave If-Match out")
                number = await insert(
                    database, inside, spec, namespace, app or None, declaration or None, now
                )
                if number is None:
                    continue  # Somebody has just taken the name: it is their job now that is to be so.
                made = await view(database, inside, number, now=now, fresh=True)
                assert made is not None
                return made, True
            _check_revision(held.job, expected_revision)
            anchor = held.job.spec.anchor if spec.anchor is None else spec.anchor
            anchored = msgspec.structs.replace(spec, anchor=anchor)
            return await change(database, inside, held, anchored, app, declaration), False

    return await within(database, connection, work)


async def _held_by_name(
    database: Database, connection: Connection, name: str, namespace: str, now: datetime | None
) -> LockedJob | None:
    """The live job of this name; while it was waited for, it may have been deleted or given another name."""
    while True:
        number = await database.fetchval("jobs/find", on=connection, namespace=namespace, name=name)
        if number is None:
            return None
        held = await hold(
            Context(database, namespace, now=now, connection=connection), encode_id("j", number), deleted=True
        )
        if held.job.status != JobStatus.DELETED and held.job.row["name"] == name:
            return held


async def change(
    database: Database,
    connection: Connection,
    held: LockedJob,
    spec: JobSpec,
    app: str | None = KEEP,
    declaration: str | None = KEEP,
) -> JobView:
    """From one definition to another, if they differ."""
    job = held.job
    app = job.row["app"] if app is KEEP else app
    declaration = job.row["declaration"] if declaration is KEEP else declaration
    schedule, anchor = read_schedule(spec, held.now)
    columns = _columns(normal(spec, schedule), schedule, anchor)
    same = all(_alike(name, job.row[name], value) for name, value in columns.items())
    if not same or app != job.row["app"] or declaration != job.row["declaration"]:
        lane = await lane_id(Context(database, connection=connection), lane_of(spec))
        if schedule.timezone != job.row["timezone"]:
            await note_zones(database, connection, [schedule.timezone])
        moved = schedule.timing_key != _timing_key(job)
        done = await account(database, connection, held, close=moved)
        next_at, fired = _go_on(held, spec, schedule, done, moved)
        await connection.execute(database.statement("keep_revision"), job.id, held.now)
        await _write(database, connection, held, app, declaration, columns)
        await _edit_runs(database, connection, job, spec, lane)
        await _place(database, connection, held, spec, schedule, lane, next_at, fired)
    shown = await view(database, connection, job.id)
    assert shown is not None
    return shown


def _timing_key(job: StoredJob) -> str | None:
    """None: its schedule cannot be computed, so that any other is a change."""
    try:
        return job.schedule.timing_key
    except ScheduleError:
        return None


def _go_on(
    held: LockedJob, spec: JobSpec, schedule: Schedule, done: Accounted, moved: bool
) -> tuple[datetime | None, int]:
    """The next occurrence under the new definition, and how many have fired."""
    fired = done.fired_count
    if moved:
        next_at: datetime | None = first_occurrence(spec, schedule, held.now)
    elif held.timer is None and spec.max_runs != held.job.spec.max_runs:
        next_at = schedule.next_after(held.now)
    else:
        next_at = done.next_at
    if spec.max_runs is not None and fired >= spec.max_runs:
        if not moved or held.timer is not None:
            return None, fired
        fired = 0  # A completed job that is given another schedule begins again.
    return next_at, fired


async def _write(
    database: Database,
    connection: Connection,
    held: LockedJob,
    app: str | None,
    declaration: str | None,
    columns: Mapping[str, Any],
) -> None:
    try:
        async with connection.transaction():
            await connection.execute(
                database.statement("edit_job"),
                held.job.id,
                columns["name"],
                app,
                *(columns[name] for name in columns if name != "name"),
                declaration,
                held.now,
            )
    except asyncpg.UniqueViolationError:
        other = await database.fetchval(
            "jobs/find", on=connection, namespace=held.job.row["namespace"], name=columns["name"]
        )
        raise NameTaken(columns["name"], encode_id("j", other or 0)) from None


async def _edit_runs(
    database: Database, connection: Connection, job: StoredJob, spec: JobSpec, lane: int
) -> None:
    ids: list[int] = []
    keys: list[str] = []
    if job.spec.idempotency_key_template or spec.idempotency_key_template:
        for run in await connection.fetch(database.statement("unclaimed_runs"), job.id):
            ids.append(run["id"])
            payload = job.spec.payload if run["payload"] is None else decoded(run["payload"])
            keys.append(job.key_of(run["scheduled_at"], payload))
    own = await _own_concurrency_keys(database, connection, job.id, spec)
    await connection.execute(
        database.statement("edit_runs"),
        job.id,
        job.revision + 1,
        lane,
        ids,
        keys,
        concurrency_key_of(spec, job.id),
        list(own),
        list(own.values()),
    )


async def _own_concurrency_keys(
    database: Database, connection: Connection, job_id: int, spec: JobSpec
) -> dict[int, str | None]:
    """Those of waiting runs with a payload of their own."""
    if spec.concurrency_key is None:
        return {}
    rows = await connection.fetch(database.statement("own_payloads"), job_id)
    return {row["id"]: concurrency_key_of_run(spec, job_id, decoded(row["payload"])) for row in rows}


async def _place(
    database: Database,
    connection: Connection,
    held: LockedJob,
    spec: JobSpec,
    schedule: Schedule,
    lane: int,
    next_at: datetime | None,
    fired: int,
) -> None:
    job = held.job
    if next_at is None:
        if held.timer is not None:
            await connection.execute(database.statement("end_timer"), job.id, held.now)
        return
    paused = job.status == JobStatus.PAUSED
    await connection.execute(
        database.statement("set_timer"),
        job.id,
        shard_of(job.id, held.shards),
        job.revision + 1,
        schedule.timing_key,
        next_at,
        None if paused else next_at + jitter(job.id, spec),
        fired,
        spec.max_runs,
        lane,
        spec.priority,
        overlap_of(spec),
        spec.expires_seconds,
        grace_of(spec),
        HORIZON_SECONDS,
        held.now,
        concurrency_key_of(spec, job.id),
    )
    if held.timer is None:
        await connection.execute(
            database.statement("set_status"), job.id, JobStatus.ACTIVE.value, None, None, held.now
        )


def _columns(spec: JobSpec, schedule: Schedule, anchor: datetime) -> dict[str, Any]:
    """In the order of `edit_job.sql`."""
    return {
        "name": spec.name,
        "kind": schedule.kind,
        "schedule": spec.schedule,
        "timezone": schedule.timezone,
        "anchor": anchor,
        "timing_key": schedule.timing_key,
        "target": encoded(target_of(spec)),
        "payload": None if spec.payload is None else encode_payload(spec.payload),
        "options": options_of(spec),
        "labels": encoded(spec.labels) if spec.labels else None,
        "description": spec.description,
        "owner": spec.owner,
    }


def _alike(name: str, stored: Any, value: Any) -> bool:
    """jsonb comes back with other spaces, and a uuid as an object."""
    if name in ("target", "payload", "options", "labels"):
        return bool(decoded(stored) == decoded(value))
    return bool(stored.hex == value if name == "timing_key" else stored == value)


def _editable(spec: JobSpec, changes: Mapping[str, Any]) -> JobSpec:
    """A new schedule text tells its own kind, and its own zone if it names one."""
    text = changes.get("schedule")
    if not isinstance(text, str) or text == spec.schedule:
        return spec
    names_zone = re.search(r"\bTZ=|CRON_TZ=|TZID=", text) is not None
    return msgspec.structs.replace(spec, kind=None, timezone=None if names_zone else spec.timezone)


def _check_revision(job: StoredJob, expected: int | None) -> None:
    if expected is not None and expected != job.revision:
        raise Conflict(
            "revision_conflict",
            f"job {job.job_id} is at revision {job.revision}, not {expected}: somebody has edited it",
            hint="read it again, and edit that",
        )
