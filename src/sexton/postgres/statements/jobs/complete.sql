-- Complete jobs that have no other occurrence: delete their timers.
with ended as (delete from sexton.timers where job_id = any(:job_ids::bigint[]))
update sexton.jobs
set status = 'completed', completed_at = :now, paused_reason = null, paused_until = null, updated_at = :now
where id = any(:job_ids::bigint[])
