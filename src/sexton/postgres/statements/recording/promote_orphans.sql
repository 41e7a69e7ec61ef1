-- Promote queued runs whose predecessor ended while they were being queued: no other statement does this.
update sexton.runs as run
set slot = 0, available_at = greatest(coalesce(:now::timestamptz, clock_timestamp()), run.not_before)
where run.id = any (array(
    select distinct on (queued.job_id) queued.id
    from sexton.runs as queued
    where queued.slot <> 0
        and not exists (select from sexton.runs as live where live.job_id = queued.job_id and live.slot = 0)
    order by queued.job_id, queued.slot
))
