-- End runs of node $1 without success: dead (with a dead letter) or cancelled. Same rules as finish.sql.
with moment as materialized (select coalesce($11::timestamptz, clock_timestamp()) as now),
ended as (
    delete from sexton.runs as run
    using unnest(
        $2::bigint[], $3::integer[], $4::float8[], $5::float8[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]
    ) as done (id, claim, started, finished, status, reason, outcome, message, error_group)
    where run.id = done.id and run.claim = done.claim and run.node = $1
    returning
        run.*, done.started, done.finished, done.status, done.reason, done.outcome, done.message, done.error_group
),
recorded as (
    insert into sexton.history (
        recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, missed, revision, attempt, claim, node,
        fired_at, started_at, finished_at, error, idempotency_key, parent_run, payload
    )
    select
        (select now from moment), run.id, run.job_id, run.scheduled_at, run.status,
        case when run.status = 'cancelled' then coalesce(run.cancel_reason, run.reason) else run.reason end,
        run.trigger, run.missed,
        run.revision, run.attempt, run.claim, run.node, run.fired_at,
        greatest(run.claimed_at, to_timestamp(run.started)), greatest(run.claimed_at, to_timestamp(run.finished)),
        run.message, run.idempotency_key, run.parent_run, run.payload
    from ended as run
),
tried as (
    insert into sexton.attempts (recorded_at, run_id, attempt, node, started_at, finished_at, outcome, error)
    select
        (select now from moment), run.id, run.attempt, run.node, to_timestamp(run.started), to_timestamp(run.finished),
        run.outcome, run.message
    from ended as run
),
buried as (
    insert into sexton.dead (
        run_id, job_id, died_at, reason, error, error_group, lane, priority, scheduled_at, due_at, revision, trigger,
        missed, attempt, idempotency_key, parent_run, payload
    )
    select
        run.id, run.job_id, (select now from moment), run.reason, run.message, run.error_group, run.lane, run.priority,
        run.scheduled_at, run.due_at, run.revision, run.trigger, run.missed, run.attempt, run.idempotency_key,
        run.parent_run, run.payload
    from ended as run
    where run.status = 'dead'
),
-- include: promoted
select count(*) as recorded, case when count(*) < cardinality($2) then array_agg(ended.id) end as ids
from ended
