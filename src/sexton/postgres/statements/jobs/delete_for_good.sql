-- Jobs that are deleted are restored only by what has called them off.
update sexton.jobs
set deleted_as = deleted_as || '{"final": true}'
where id = any(:job_ids::bigint[]) and status = 'deleted' and deleted_as is not null
