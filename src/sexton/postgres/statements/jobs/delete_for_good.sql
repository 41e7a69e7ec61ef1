-- Jobs that are deleted cannot be restored any more.
update sexton.jobs
set deleted_as = null
where id = any(:job_ids::bigint[]) and status = 'deleted' and deleted_as is not null
