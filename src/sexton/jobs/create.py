"""New jobs. A job and its timer are one statement: it exists and is due, or it does not exist."""

from __future__ import annotations

from sexton.errors import Conflict
from sexton.jobs.change import HORIZON_SECONDS, check_handler, lane_id
from sexton.jobs.read import view
from sexton.jobs.spec import JobSpec
from sexton.jobs.stored import job_columns, lane_of, timer_columns
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import check_spec
from sexton.jobs.view import JobView
from sexton.jobs.zones import note_zone
from sexton.model import encode_id
from sexton.postgres.transaction import Context, command


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


@command
async def create(
    context: Context, spec: JobSpec, *, app: str | None = None, declaration: str | None = None
) -> JobView:
    """Make a job, or raise `InvalidField` or `NameTaken`."""
    spec = check_spec(spec)
    number = await insert(context, spec, app, declaration)
    if number is None:
        raise await name_taken(context, spec.name)
    return await view(context, number, fresh=True)


async def insert(context: Context, spec: JobSpec, app: str | None, declaration: str | None) -> int | None:
    """The new job's number, or None if a live job has its name."""
    lane = lane_of(spec)
    queue, target, handler, keyed = lane
    await check_handler(context, lane)
    known = await context.fetchrow(
        "jobs/prepare", queue=queue, target=target, handler=handler, keyed=keyed, now=context.now
    )
    assert known is not None
    job_id, now = known["job_id"], known["now"]
    schedule, anchor = read_schedule(spec, now)
    first = first_occurrence(spec, schedule, now)
    timer = timer_columns(spec, schedule, job_id, first, known["lane"] or await lane_id(context, lane))
    made = await context.fetchrow(
        "jobs/create",
        job_id=job_id,
        namespace=context.namespace,
        app=app,
        declaration=declaration,
        now=now,
        horizon_seconds=HORIZON_SECONDS,
        **(job_columns(spec, schedule, anchor) | timer),
    )
    if made is None:
        return None
    if not made["zone_known"]:
        await note_zone(context, schedule.timezone)
    return int(job_id)


async def name_taken(context: Context, name: str) -> NameTaken:
    other = await context.fetchval("jobs/find", namespace=context.namespace, name=name)
    return NameTaken(name, encode_id("j", other) if other else "just deleted")
