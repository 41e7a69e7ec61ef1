-- Delete jobs: their names are free, they fire no more, their history stays.
with ended as (delete from sexton.timers where job_id = any(:job_ids::bigint[]))
update sexton.jobs
set status = 'deleted', deleted_at = :now, updated_at = :now, paused_reason = null, paused_until = null
where id = any(:job_ids::bigint[])
