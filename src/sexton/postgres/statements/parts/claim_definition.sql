-- The definition by which each run is carried out: the job as it was when the run was first claimed, or as it is now. One
-- row of each at the most, looked up by key: a lateral join with an offset stays a nested loop.
-- Expects picked with job_id, claim and revision, in a from clause.
left join lateral (
    select job.revision, job.name, job.target, job.payload, job.options, job.timezone
    from sexton.jobs as job
    where job.id = picked.job_id
    offset 0
) as job on true
left join lateral (
    select old.definition
    from sexton.job_revisions as old
    where picked.claim > 0
        and picked.revision is distinct from job.revision
        and old.job_id = picked.job_id
        and old.revision = picked.revision
    offset 0
) as old on true
