-- Cancel runs of a namespace: waiting runs end at once; running ones are asked to end, and their workers notified. Runs
-- that are not live have no row.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
-- include: patience
found as materialized (
    select run.id, run.state, run.node, run.job_id, job.name
    from patience
    cross join sexton.runs as run
    join sexton.jobs as job on job.id = run.job_id and job.namespace = :namespace
    where run.id = any(:run_ids::bigint[])
    order by coalesce(run.slot, 0) <> 0, run.id
    for update of run
),
asked as (
    update sexton.runs as run
    set cancel_requested_at = coalesce(run.cancel_requested_at, (select now from moment)),
        cancel_reason = coalesce(run.cancel_reason, :reason)
    from found
    where run.id = found.id and found.state = 'running'
    returning pg_notify('sexton_cancels', run.node::text)
),
ended as (
    delete from sexton.runs as run
    using found
    where run.id = found.id and found.state <> 'running'
    returning
        run.*, 'cancelled' as status, :reason as reason, case when run.state = 'waiting' then run.claimed_at end as started_at,
        (select now from moment) as finished_at, run.error as message
),
-- include: recorded
-- include: promoted
select
    case when found.state = 'running' then 'requested' else 'cancelled' end as outcome,
    found.id, found.state, found.job_id, found.name
from found
where (select count(*) from asked) >= 0
