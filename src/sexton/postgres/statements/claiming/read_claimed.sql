-- The runs that a node has claimed under limits, with the columns of claiming/claim.
select run.company,
-- include: claim_columns
from unnest(:runs::bigint[]) as mine (id)
join sexton.runs as run on run.id = mine.id
left join sexton.jobs as job on job.id = run.job_id
left join sexton.job_revisions as old
    on run.revision is distinct from job.revision
    and old.job_id = run.job_id
    and old.revision = run.revision
where run.node = :node and run.state = 'running'
