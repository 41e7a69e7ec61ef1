-- Which statements of the sweeper have work: declare_dead (`lapsed`), reap (`fallen`), lock_overdue (`overdue`), and
-- stop_overlapped (`overlapped`).
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now)
select
    exists (
        select from sexton.nodes
        where state <> 'dead' and lease_until < (select now from moment) and 'worker' = any (roles)
    ) as lapsed,
    exists (select from sexton.nodes where state = 'dead' and running > 0) as fallen,
    exists (select from sexton.runs where state = 'waiting' and deadline_at <= (select now from moment))
        or exists (select from sexton.runs where cancel_requested_at is not null and state = 'waiting') as overdue,
    exists (
        select from sexton.runs as queued
        join sexton.runs as live on live.job_id = queued.job_id and live.slot = 0 and live.cancel_requested_at is null
            and live.trigger <> 'catch_up'
        join sexton.jobs as job on job.id = queued.job_id and job.options ->> 'overlap' = 'CANCEL_RUNNING'
        where queued.slot = 1
    ) as overlapped
