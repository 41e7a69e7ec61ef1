-- The next jobs of a zone with their timers, all held until the transaction ends: first the job, then its timer.
-- $1 zone, $2 after this job, $3 how many
select job.id, job.name, job.kind, job.schedule, job.timezone, job.anchor, job.options, job.created_at,
       timer.timing_key, timer.scheduled_at
from sexton.jobs as job
join sexton.timers as timer on timer.job_id = job.id
where job.timezone = $1 and job.timezone <> 'UTC' and job.status in ('active', 'paused') and job.id > $2
order by job.id
limit $3
for no key update of job, timer
