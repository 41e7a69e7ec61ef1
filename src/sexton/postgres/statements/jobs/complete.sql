-- Complete a job that has no other occurrence: its timer goes.
with ended as (delete from sexton.timers where job_id = :job_id)
update sexton.jobs
set status = 'completed', completed_at = :now, paused_reason = null, paused_until = null, updated_at = :now
where id = :job_id
