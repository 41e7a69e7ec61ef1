-- How many runs of each queue of a namespace (or of :queue) were fired and have ended from :since on, by minute: the stored counts, what was recorded
-- after them, and those of the newest :most live runs of the cluster that were fired since. `cut`: there may be more live runs.
with mark as materialized (
    select coalesce((select greatest(through, :since::timestamptz) from sexton.activity_mark), :since) as through
),
live as materialized (
    select run.lane, run.fired_at from sexton.runs as run order by run.id desc limit :most
),
found as (
    select queue, minute, fired, ended
    from sexton.queue_activity
    where minute >= :since and namespace = :namespace
    union all
    select coalesce(job.options ->> 'queue', :default_queue::text), each.minute, each.fired, each.ended
    from sexton.history as h
    join sexton.jobs as job on job.id = h.job_id
    cross join lateral (
        values (date_trunc('minute', h.recorded_at), 0, 1), (date_trunc('minute', h.fired_at), 1, 0)
    ) as each (minute, fired, ended)
    -- With one bound PostgreSQL expects a third of history, and reads all jobs to join them (0.7 s of a million).
    where h.recorded_at >= (select through from mark) and h.recorded_at < :until
        and h.run_id is not null and job.namespace = :namespace
    union all
    select lane.queue, date_trunc('minute', live.fired_at), 1, 0
    from live
    join sexton.lanes as lane on lane.id = live.lane
    where live.fired_at >= :since and lane.namespace = :namespace
)
select queue, minute, sum(fired)::bigint as fired, sum(ended)::bigint as ended,
       (select count(*) = :most and min(fired_at) > :since from live) as cut
from found
where minute >= :since and (:queue::text is null or queue = :queue)
group by queue, minute
