-- Jobs as they are shown: the definition, the next occurrence, when a run started last, why the job is set aside, and
-- whether an occurrence has fired whose run has not ended.
select job.*, timer.scheduled_at as next_at, problem.problem, clock_timestamp() as clock,
       (select max(run.claimed_at) from sexton.runs as run where run.job_id = job.id) as live_at,
       exists (
           select from sexton.runs as run where run.job_id = job.id and run.trigger in ('schedule', 'catch_up')
       ) as unfinished
from sexton.jobs as job
left join sexton.timers as timer on timer.job_id = job.id
left join sexton.problems as problem on problem.job_id = job.id and problem.revision = job.revision
where job.id = any(:job_ids::bigint[])
