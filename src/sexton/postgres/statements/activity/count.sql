-- Count what was recorded from :since up to :until. A run that was tried again is as late as it was fired; one of a job with jitter is as late
-- as it waited for a worker, since its own offset is not stored.
with counted as (
    select job.namespace, date_trunc('minute', h.recorded_at) as minute, h.status, late.step, sum(coalesce(h.occurrences, 1)) as runs
    from sexton.history as h
    join sexton.jobs as job on job.id = h.job_id
-- include: late_step
    where h.recorded_at >= :since and h.recorded_at < :until
    group by 1, 2, 3, 4
),
added as (
    insert into sexton.activity as known (namespace, minute, status, late, runs)
    select namespace, minute, status, step, runs from counted
    on conflict (namespace, minute, status, late) do update set runs = known.runs + excluded.runs
    returning 1
),
moved as (
    update sexton.activity_mark set through = :until where through = :since returning 1
)
select (select count(*) from added) as rows, (select count(*) from moved) as moved
