-- A job without another occurrence: its timer goes, and it is completed. $1 job, $2 now
with ended as (delete from sexton.timers where job_id = $1)
update sexton.jobs
set status = 'completed', completed_at = $2, paused_reason = null, paused_until = null, updated_at = $2
where id = $1
