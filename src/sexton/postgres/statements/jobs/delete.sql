-- Delete a job: its name is free, it fires no more, its history stays.
with ended as (delete from sexton.timers where job_id = :job_id)
update sexton.jobs
set status = 'deleted', deleted_at = :now, updated_at = :now, paused_reason = null, paused_until = null
where id = :job_id
