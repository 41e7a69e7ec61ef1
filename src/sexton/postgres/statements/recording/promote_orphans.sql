-- A queued run whose predecessor ended at the very moment it was queued: no other statement promotes it.
update sexton.runs as run
set slot = 0, available_at = coalesce(:now::timestamptz, clock_timestamp())
where run.slot = 1
    and not exists (select from sexton.runs as live where live.job_id = run.job_id and live.slot = 0)
