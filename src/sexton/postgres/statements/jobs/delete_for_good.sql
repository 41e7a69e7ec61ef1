-- Jobs that are deleted are restored only with the release, window or message that they belonged to.
update sexton.jobs
set deleted_as = deleted_as || '{"final": true}'
where id = any(:job_ids::bigint[]) and status = 'deleted' and deleted_as is not null
