-- Pause a job, with a reason and until when, or make it active.
update sexton.jobs
set status = :status, paused_reason = :reason, paused_until = :until, completed_at = null, updated_at = :now
where id = :job_id
