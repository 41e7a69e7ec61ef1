-- The zone of job $1 as it was in revision $2.
select coalesce(old.definition ->> 'timezone', job.timezone) as timezone
from sexton.jobs as job
left join sexton.job_revisions as old on old.job_id = job.id and old.revision = $2 and job.revision <> $2
where job.id = $1
