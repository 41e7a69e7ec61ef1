-- A job and its next occurrence.
select job.*, timer.scheduled_at, timer.fired_count, coalesce(:now::timestamptz, clock_timestamp()) as now
from sexton.jobs as job
left join sexton.timers as timer on timer.job_id = job.id
where job.id = :job_id
