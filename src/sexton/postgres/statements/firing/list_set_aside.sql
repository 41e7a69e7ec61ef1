-- Jobs that are set aside, with everything that is needed to plan them again. A job that has ended or was edited since has no schedule
-- here.
select problem.job_id, problem.problem, job.namespace, job.name, job.kind, job.schedule, job.timezone, job.anchor, job.options, job.moved, timer.scheduled_at,
       clock_timestamp() as now
from sexton.problems as problem
left join (sexton.jobs as job join sexton.timers as timer on timer.job_id = job.id)
    on job.id = problem.job_id and job.revision = problem.revision
order by problem.job_id
limit 1000
