-- Record jobs that are set aside, with the reason. Jobs that are recorded already, or were edited since, are left alone;
-- the others are returned.
with recorded as (
    insert into sexton.problems (job_id, revision, problem)
    select found.job_id, found.revision, found.problem
    from unnest(:jobs::bigint[], :revisions::integer[], :problems::text[]) as found (job_id, revision, problem)
    join sexton.jobs as job on job.id = found.job_id and job.revision = found.revision
    where not exists (
        select from sexton.problems as known
        where known.job_id = found.job_id and known.revision = found.revision and known.problem = found.problem
    )
    on conflict (job_id) do update
    set revision = excluded.revision, problem = excluded.problem, since = excluded.since
    returning job_id, problem
)
select job.id, job.namespace, job.name, recorded.problem
from recorded
join sexton.jobs as job on job.id = recorded.job_id
