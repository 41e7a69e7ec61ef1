-- Cancel the waiting runs of jobs. With `running`, also ask the running ones to end; runs that wait for a report from outside
-- end at once.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
-- include: patience
found as materialized (
    select run.id, run.state, run.node
    from patience
    cross join sexton.runs as run
    where run.job_id = any(:job_ids::bigint[])
    order by coalesce(run.slot, 0) <> 0, run.id
    for update of run
),
ended as (
    delete from sexton.runs as run
    using found
    where run.id = found.id and (found.state in ('pending', 'failed') or (found.state = 'waiting' and :running::boolean))
    returning
        run.*, 'cancelled' as status, :reason as reason, case when run.state = 'waiting' then run.claimed_at end as started_at,
        (select now from moment) as finished_at, run.error as message
),
-- include: recorded
asked as (
    update sexton.runs as run
    set cancel_requested_at = coalesce(run.cancel_requested_at, (select now from moment)),
        cancel_reason = coalesce(run.cancel_reason, :reason)
    from found
    where run.id = found.id and found.state = 'running' and :running::boolean
    returning pg_notify('sexton_cancels', run.node::text)
)
select (select count(*) from ended)::integer as cancelled, (select count(*) from asked)::integer as requested
