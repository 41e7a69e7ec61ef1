"""Past actions of `sexton demo`: the ledger, the entity and its history."""

from __future__ import annotations

from datetime import datetime

from sexton.content.read import schedule_number
from sexton.postgres.transaction import Context, command

MOVE = """
update sexton.content_schedules
set scheduled_at = $2::timestamptz, created_at = $2::timestamptz - interval '2 days',
    done_at = case when $3::text = 'success' then $2 end
where id = $1
returning job_id
"""
FORGET = "delete from sexton.timers where job_id = $1"
COMPLETE = """
update sexton.jobs
set status = 'completed', completed_at = $2::timestamptz, created_at = $2::timestamptz - interval '2 days'
where id = $1
"""
RECORD = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, revision, attempt, claim, fired_at,
     started_at, finished_at, error)
values ($2::timestamptz + interval '1 second', $3, $1, $2, $4,
    case $4::text when 'dead' then 'exhausted' when 'skipped' then
    'outside_catch_up' end, 'schedule', 1, case when $4 = 'dead' then 2 when $4 = 'success' then 1 end, 1,
    case when $4 <> 'skipped' then $2::timestamptz + interval '20 milliseconds' end,
    case when $4 <> 'skipped' then $2::timestamptz + interval '40 milliseconds' end,
    case when $4 <> 'skipped' then $2::timestamptz + interval '900 milliseconds' end, $5)
"""
PUBLISH = """
with plan as (select * from sexton.content_schedules where id = $1),
entity as (
    update sexton.content_entities as entity
    set state = 'published', published_version = 1, updated_at = $2::timestamptz
    from plan
    where entity.namespace = plan.namespace and entity.entity_type = plan.entity_type
        and entity.entity_id = plan.entity_id
),
version as (
    update sexton.content_versions as version
    set created_at = $2::timestamptz - interval '3 days'
    from plan
    where version.namespace = plan.namespace and version.entity_type = plan.entity_type
        and version.entity_id = plan.entity_id
)
insert into sexton.content_changes
    (namespace, entity_type, entity_id, at, action, state_before, state_after, version, schedule_id, run_id,
     actor)
select namespace, entity_type, entity_id, $2, action, 'draft', 'published', 1, id, $3, created_by from plan
"""


@command
async def write_as_happened(
    context: Context, plan: str, at: datetime, status: str, error: str | None
) -> None:
    """Record that a planned action ended at this time: success, dead or skipped."""
    connection, sql = context.open, context.database.sql
    number = schedule_number(plan)
    job = await connection.fetchval(sql(MOVE), number, at, status)
    await connection.execute(sql(FORGET), job)
    await connection.execute(sql(COMPLETE), job, at)
    run = None
    if status != "skipped":
        run = (await context.fetchval("recording/take_run_ids", count=1))[0]
    await connection.execute(sql(RECORD), job, at, run, status, error)
    if status == "success":
        await connection.execute(sql(PUBLISH), number, at, run)
