-- The runs that a firing has made, by lane. :jobs and their :groups (from 1) are texts of arrays; :times has the
-- scheduled time of each group. Queues with limits and paused queues are left out: only PostgreSQL knows what may be
-- claimed there, and when.
select run.lane, array_agg(run.id order by run.priority, run.id) as runs
from unnest(:jobs::text::bigint[], :groups::text::integer[]) as fired (job_id, place)
cross join lateral (
    select run.id, run.lane, run.priority
    from sexton.runs as run
    where run.job_id = fired.job_id
        and run.scheduled_at = (:times::timestamptz[])[fired.place]
        and run.state = 'pending'
        and run.available_at <= clock_timestamp()
    offset 0
) as run
join sexton.lanes as lane on lane.id = run.lane
left join sexton.queues as queue on queue.namespace = lane.namespace and queue.name = lane.queue
where queue.paused_at is null
    and queue.concurrency is null and queue.rate is null and (queue.key_concurrency is null or not lane.keyed)
group by run.lane
