-- Cancel the runs of job $1 that wait for their turn, and with $2 ask those that run to end as well; those that are
-- carried out elsewhere, and wait for a report, end with these. $3 says why, $4 now
with moment as materialized (select coalesce($4::timestamptz, clock_timestamp()) as now),
-- include: patience
found as materialized (
    select run.id, run.state, run.node
    from patience
    cross join sexton.runs as run
    where run.job_id = $1
    order by run.slot is not distinct from 1, run.id
    for update of run
),
ended as (
    delete from sexton.runs as run
    using found
    where run.id = found.id and (found.state in ('pending', 'failed') or (found.state = 'waiting' and $2::boolean))
    returning
        run.*, 'cancelled' as status, $3 as reason, case when run.state = 'waiting' then run.claimed_at end as started_at,
        (select now from moment) as finished_at, run.error as message
),
-- include: recorded
asked as (
    update sexton.runs as run
    set cancel_requested_at = coalesce(run.cancel_requested_at, (select now from moment)),
        cancel_reason = coalesce(run.cancel_reason, $3)
    from found
    where run.id = found.id and found.state = 'running' and $2::boolean
    returning pg_notify('sexton_cancels', run.node::text)
)
select (select count(*) from ended)::integer as cancelled, (select count(*) from asked)::integer as requested
