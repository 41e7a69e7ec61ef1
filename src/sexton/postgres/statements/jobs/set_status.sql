-- Pause jobs, with a reason and until when, or make them active.
update sexton.jobs
set status = :status, paused_reason = :reason, paused_until = :until, completed_at = null, updated_at = :now
where id = any(:job_ids::bigint[])
