-- Ask runs to end if they must make room for a queued run (CANCEL_RUNNING) and were not asked yet, because another
-- transaction had locked them when that run was queued.
update sexton.runs as run
set cancel_requested_at = coalesce(:now::timestamptz, clock_timestamp()), cancel_reason = 'the next occurrence is due'
where run.id = any (array(
    select live.id
    from sexton.runs as queued
    join sexton.jobs as job on job.id = queued.job_id and job.options ->> 'overlap' = 'CANCEL_RUNNING'
    join sexton.runs as live on live.job_id = queued.job_id and live.slot = 0 and live.cancel_requested_at is null
        and live.trigger <> 'catch_up'
    where queued.slot = 1
    for update of live skip locked
))
returning pg_notify('sexton_cancels', coalesce(run.node::text, ''))
