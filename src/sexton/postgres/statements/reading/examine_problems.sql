-- How many jobs are set aside, and a few of them.
select count(*) as problems,
       (array_agg(job.name || ': ' || problem.problem order by problem.since, job.id))[1:5] as examples
from sexton.problems as problem
join sexton.jobs as job on job.id = problem.job_id and job.revision = problem.revision
where job.status in ('active', 'paused')
