-- The name is free from here on, the job fires no more; what happened stays. $1 job, $2 now
with ended as (delete from sexton.timers where job_id = $1)
update sexton.jobs
set status = 'deleted', deleted_at = $2, updated_at = $2, paused_reason = null, paused_until = null
where id = $1
