-- What node $1 has claimed under limits, with all that it takes to carry it out, as claim.sql answers. $2 runs
select
-- include: claim_columns
from unnest($2::bigint[]) as mine (id)
join sexton.runs as run on run.id = mine.id
left join sexton.jobs as job on job.id = run.job_id
left join sexton.job_revisions as old
    on run.revision is distinct from job.revision
    and old.job_id = run.job_id
    and old.revision = run.revision
where run.node = $1 and run.state = 'running'
