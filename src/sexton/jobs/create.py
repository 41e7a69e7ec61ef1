"""New jobs. A job and its timer are one statement: it exists and is due, or it does not exist."""

from __future__ import annotations

from datetime import datetime

from sexton.errors import Conflict
from sexton.jobs.change import HORIZON_SECONDS, NAMESPACE, lane_id, within
from sexton.jobs.payload import encode_payload
from sexton.jobs.read import view
from sexton.jobs.spec import JobSpec
from sexton.jobs.stored import (
    concurrency_key_of,
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
from sexton.jobs.validation import check_spec
from sexton.jobs.view import JobView
from sexton.jobs.zones import note_zone
from sexton.model import encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context


class NameTaken(Conflict):
    """Another live job has this name: `job_id` is its id."""

    def __init__(self, name: str, job_id: str) -> None:
        super().__init__(
            "name_taken",
            f"the job {job_id} has the name {name} already",
            hint="choose another name, edit that job, or replace it: --replace, PUT /jobs/by-name/…",
        )
        self.field = "name"
        self.job_id = job_id

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "field": self.field, "job_id": self.job_id}


async def create(
    database: Database,
    spec: JobSpec,
    *,
    namespace: str = NAMESPACE,
    app: str | None = None,
    declaration: str | None = None,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> JobView:
    """Make a job, or raise `InvalidField` or `NameTaken`."""
    check_spec(spec)

    async def work(inside: Connection) -> JobView:
        number = await insert(database, inside, spec, namespace, app, declaration, now)
        if number is None:
            other = await database.fetchval("jobs/find", on=inside, namespace=namespace, name=spec.name)
            raise NameTaken(spec.name, encode_id("j", other) if other else "just deleted")
        made = await view(database, inside, number, now=now, fresh=True)
        assert made is not None
        return made

    return await within(database, connection, work)


async def insert(
    database: Database,
    connection: Connection,
    spec: JobSpec,
    namespace: str,
    app: str | None,
    declaration: str | None,
    now: datetime | None,
) -> int | None:
    """The new job's number, or None if a live job has its name."""
    lane = lane_of(spec)
    known = await connection.fetchrow(database.statement("prepare_job"), *lane, now)
    assert known is not None
    schedule, anchor = read_schedule(spec, known["now"])
    first = first_occurrence(spec, schedule, known["now"])
    made = await connection.fetchrow(
        database.statement("create_job"),
        known["job_id"],
        namespace,
        spec.name,
        app,
        schedule.kind,
        spec.schedule,
        schedule.timezone,
        anchor,
        schedule.timing_key,
        encoded(target_of(spec)),
        None if spec.payload is None else encode_payload(spec.payload),
        options_of(normal(spec, schedule)),
        encoded(spec.labels) if spec.labels else None,
        spec.description,
        spec.owner,
        declaration,
        known["now"],
        first,
        first + jitter(known["job_id"], spec),
        spec.max_runs,
        known["lane"] or await lane_id(Context(database, connection=connection), lane),
        spec.priority,
        overlap_of(spec),
        spec.expires_seconds,
        grace_of(spec),
        HORIZON_SECONDS,
        known["now"],
        concurrency_key_of(spec, known["job_id"]),
    )
    if made is None:
        return None
    if not made["zone_known"]:
        await note_zone(database, connection, schedule.timezone)
    return int(made["job_id"])
