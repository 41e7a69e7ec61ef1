-- The next jobs of a zone with their timers, all locked until the transaction ends: first the job, then its timer.
select job.id, job.name, job.kind, job.schedule, job.timezone, job.anchor, job.options, job.moved, job.created_at,
       timer.timing_key, timer.scheduled_at
from sexton.jobs as job
join sexton.timers as timer on timer.job_id = job.id
where job.timezone = :zone and job.timezone <> 'UTC' and job.status in ('active', 'paused') and job.id > :after
order by job.id
limit :limit
for no key update of job, timer
