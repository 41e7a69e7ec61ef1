-- Cancel the runs of job $1 that wait for their turn, and with $2 ask those that run to end as well; those that are
-- carried out elsewhere, and wait for a report, end with these.
with moment as materialized (select coalesce($4::timestamptz, clock_timestamp()) as now),
found as materialized (
    select run.id, run.state, run.node from sexton.runs as run where run.job_id = $1 for update
),
asked as (
    update sexton.runs as run
    set cancel_requested_at = coalesce(run.cancel_requested_at, (select now from moment)),
        cancel_reason = coalesce(run.cancel_reason, $3)
    from found
    where run.id = found.id and found.state = 'running' and $2::boolean
    returning pg_notify('sexton_cancels', run.node::text)
),
ended as (
    delete from sexton.runs as run
    using found
    where run.id = found.id and (found.state in ('pending', 'failed') or (found.state = 'waiting' and $2::boolean))
    returning run.*
),
recorded as (
    insert into sexton.history (
        recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, missed, revision, attempt, claim, node,
        fired_at, started_at, finished_at, error, idempotency_key, parent_run, payload
    )
    select
        (select now from moment), run.id, run.job_id, run.scheduled_at, 'cancelled', $3, run.trigger, run.missed,
        run.revision, run.attempt, run.claim, run.node, run.fired_at,
        case when run.state = 'waiting' then run.claimed_at end, (select now from moment), run.error, run.idempotency_key,
        run.parent_run, run.payload
    from ended as run
)
select (select count(*) from ended)::integer as cancelled, (select count(*) from asked)::integer as requested
