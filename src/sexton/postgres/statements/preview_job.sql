-- A job and where it stands. $1 job, $2 now, or null for the database clock
select job.*, timer.scheduled_at, timer.fired_count, coalesce($2::timestamptz, clock_timestamp()) as now
from sexton.jobs as job
left join sexton.timers as timer on timer.job_id = job.id
where job.id = $1
