-- Jobs that are set aside, with the reason. What is known already, and what was edited since, is left as it is.
-- $1 jobs, $2 revisions, $3 problems
insert into sexton.problems (job_id, revision, problem)
select found.job_id, found.revision, found.problem
from unnest($1::bigint[], $2::integer[], $3::text[]) as found (job_id, revision, problem)
join sexton.jobs as job on job.id = found.job_id and job.revision = found.revision
where not exists (
    select from sexton.problems as known
    where known.job_id = found.job_id and known.revision = found.revision and known.problem = found.problem
)
on conflict (job_id) do update
set revision = excluded.revision, problem = excluded.problem, since = excluded.since
