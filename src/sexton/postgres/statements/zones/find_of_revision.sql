-- The zone of a job as it was in a revision.
select coalesce(old.definition ->> 'timezone', job.timezone) as timezone
from sexton.jobs as job
left join sexton.job_revisions as old on old.job_id = job.id and old.revision = :revision and job.revision <> :revision
where job.id = :job_id
