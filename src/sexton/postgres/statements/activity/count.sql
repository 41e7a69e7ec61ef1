-- Count what was recorded from :since up to :until. For a run that was tried again, the lateness is that of its firing. For a run of a job with jitter, it is the
-- wait for a worker, because the offset is not stored. A run counts for the queue that its job has now.
with counted as materialized (
    select job.namespace, coalesce(job.options ->> 'queue', :default_queue::text) as queue, date_trunc('minute', h.recorded_at) as minute,
           date_trunc('minute', h.fired_at) as fired_minute, h.status, late.step, sum(coalesce(h.occurrences, 1)) as runs,
           count(h.run_id) as ended
    from sexton.history as h
    join sexton.jobs as job on job.id = h.job_id
-- include: late_step
    where h.recorded_at >= :since and h.recorded_at < :until
    group by 1, 2, 3, 4, 5, 6
),
added as (
    insert into sexton.activity as known (namespace, minute, status, late, runs)
    select namespace, minute, status, step, sum(runs) from counted group by 1, 2, 3, 4
    on conflict (namespace, minute, status, late) do update set runs = known.runs + excluded.runs
    returning 1
),
passed as (
    insert into sexton.queue_activity as known (minute, namespace, queue, fired, ended)
    select minute, namespace, queue, sum(fired), sum(ended)
    from (
        select minute, namespace, queue, 0 as fired, ended from counted where ended > 0
        union all
        select fired_minute, namespace, queue, ended, 0 from counted where ended > 0 and fired_minute is not null
    ) as each
    where minute >= :until::timestamptz - interval '2 hours'
    group by 1, 2, 3
    on conflict (minute, namespace, queue) do update set fired = known.fired + excluded.fired, ended = known.ended + excluded.ended
    returning 1
),
gone as (
    delete from sexton.queue_activity where minute < :until::timestamptz - interval '3 hours' returning 1
),
moved as (
    update sexton.activity_mark set through = :until where through = :since returning 1
)
select (select count(*) from added) as rows, (select count(*) from moved) as moved
