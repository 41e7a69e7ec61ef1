-- Delete completed one-off jobs when their last run ended long enough ago (their keep_completed_seconds); their names still lead to
-- their history. Remove the rows of deleted jobs once no history of them is kept (:keep_days), except those of declared jobs. A job
-- with a live run or a dead letter stays: both need it. By the indexes jobs_completed and jobs_deleted, so that jobs whose time has
-- not come are not read.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
completed as materialized (
    select job.id
    from sexton.jobs as job
    where job.status = 'completed'
        and job.kind = 'once'
        and (job.completed_at at time zone 'UTC') + sexton.kept_for(job.options) <= (select now at time zone 'UTC' from moment)
        and not exists (select from sexton.runs as run where run.job_id = job.id)
        and not exists (select from sexton.dead as dead where dead.job_id = job.id)
        and not exists (
            select from sexton.history as ended
            where ended.job_id = job.id
                and ended.recorded_at > (select now from moment) - sexton.kept_for(job.options)
        )
    limit :limit
    for update skip locked
),
closed as (
    update sexton.jobs as job
    set status = 'deleted', deleted_at = (select now from moment), updated_at = (select now from moment), payload = null
    where job.id = any (array(select id from completed))
    returning job.id
),
deleted as materialized (
    select job.id
    from sexton.jobs as job
    where job.status = 'deleted'
        and job.declaration is null
        and job.deleted_at <= (select now from moment) - make_interval(days => :keep_days::int)
        and not exists (select from sexton.runs as run where run.job_id = job.id)
        and not exists (select from sexton.dead as dead where dead.job_id = job.id)
    limit :limit
    for update skip locked
),
removed as (
    delete from sexton.jobs as job
    where job.id = any (array(select id from deleted))
    returning job.id
),
revisions as (
    delete from sexton.job_revisions as revision
    where revision.job_id = any (array(select id from deleted))
)
select (select count(*) from closed) as deleted, (select count(*) from removed) as removed
