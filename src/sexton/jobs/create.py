"""New jobs. One statement inserts a job and its timer, so no job exists without one."""

from __future__ import annotations

from msgspec import to_builtins

from sexton.errors import NameTaken
from sexton.jobs.change import HORIZON_SECONDS, check_handler, lane_id
from sexton.jobs.payload import check_payload_size
from sexton.jobs.read import view
from sexton.jobs.spec import JobSpec
from sexton.jobs.stored import job_columns, lane_of, timer_columns
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import check_spec
from sexton.jobs.view import JobView
from sexton.jobs.zones import note_zone
from sexton.model import encode_id
from sexton.postgres.transaction import Context, command
from sexton.security.quotas import take_jobs


@command
async def create(
    context: Context, spec: JobSpec, *, app: str | None = None, declaration: str | None = None
) -> JobView:
    """Create a job, or raise `InvalidField` or `NameTaken`."""
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
    [known] = await context.fetch("jobs/prepare", queue=queue, target=target, handler=handler, keyed=keyed)
    job_id, now = known["job_id"], known["now"]
    check_payload_size(context, spec.payload, known["payload_bytes"])
    if known["jobs_quota"] is not None:
        await take_jobs(context, 1)
    schedule, anchor = read_schedule(spec, now)
    first = first_occurrence(spec, schedule, now)
    timer = timer_columns(spec, schedule, job_id, first, known["lane"] or await lane_id(context, lane))
    made = await context.fetchrow(
        "jobs/create",
        job_id=job_id,
        app=app,
        declaration=declaration,
        now=now,
        horizon_seconds=HORIZON_SECONDS,
        **job_columns(spec, schedule, anchor) | timer,
    )
    if made is None:
        return None
    if not made["zone_known"]:
        await note_zone(context, schedule.timezone)
    own = None if app is None else {"app": app, "declared": declaration is not None}
    context.changed(
        "job.created", encode_id("j", job_id), spec.name, after=to_builtins(spec), job_id=job_id, detail=own
    )
    return int(job_id)


async def name_taken(context: Context, name: str) -> NameTaken:
    other = await context.fetchval("jobs/find", name=name)
    return NameTaken(name, encode_id("j", other) if other else "just deleted")
