-- Give jobs other labels, each as its next revision; runs that no worker has claimed follow, as in jobs/edit_runs. :job_ids, and for each
-- :labels (null: none) and :revisions, the new ones.
with job as materialized (
    select * from unnest(:job_ids::bigint[], :labels::jsonb[], :revisions::integer[]) as j (id, labels, revision)
),
relabelled as (
    update sexton.jobs as stored
    set labels = job.labels, revision = job.revision, updated_at = :now
    from job
    where stored.id = job.id
),
-- include: patience
held as materialized (
    select run.id
    from patience
    cross join sexton.runs as run
    where run.job_id = any(:job_ids::bigint[]) and run.claim = 0
    order by coalesce(run.slot, 0) <> 0, run.id
    for update of run
)
update sexton.runs as run
set revision = job.revision
from job
where run.id = any (array(select held.id from held)) and run.claim = 0 and run.job_id = job.id
