-- One-off jobs go when they have been completed for as long as they wanted to be kept; their history stays. A job with a
-- live run or a dead letter stays as well: both still need it.
with old as materialized (
    select job.id
    from sexton.jobs as job
    where job.status = 'completed'
        and job.kind = 'once'
        and job.completed_at + make_interval(
            secs => coalesce((job.options ->> 'keep_completed_seconds')::float8, 86400)
        ) <= coalesce($1::timestamptz, clock_timestamp())
        and not exists (select from sexton.runs as run where run.job_id = job.id)
        and not exists (select from sexton.dead as dead where dead.job_id = job.id)
    limit $2
    for update skip locked
),
removed as (
    delete from sexton.jobs as job using old where job.id = old.id returning job.id
),
revisions as (
    delete from sexton.job_revisions as revision using old where revision.job_id = old.id
)
select count(*) from removed
