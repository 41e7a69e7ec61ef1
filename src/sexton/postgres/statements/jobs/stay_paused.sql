-- Let a pause last until the job is resumed: clear its end, and return the end that it had.
update sexton.jobs as job
set paused_until = null, paused_reason = :reason
from sexton.jobs as before
where job.id = :job_id and job.status = 'paused' and before.id = job.id
returning job.namespace, job.name, before.paused_until, before.paused_reason
