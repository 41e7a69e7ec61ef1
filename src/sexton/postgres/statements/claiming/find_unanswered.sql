-- The runs whose wait for a worker has reached one of the :ages (in seconds) since a time (null: lately), by lane, and the
-- time of this statement. At age 0, fired runs that could start at once are left out: the firing has rung for them. At
-- most :limit per lane, priority and age, each read from its own range of runs_claimable. Queues with limits and paused
-- queues are left out, as in claiming/find_fired.
with moment as materialized (select clock_timestamp() as now),
unanswered as (
    select run.lane, array_agg(distinct run.id) as runs
    from sexton.lanes as lane
    left join sexton.queues as queue on queue.namespace = lane.namespace and queue.name = lane.queue
    cross join generate_series(0, 3) as level (priority)
    cross join unnest(:ages::float8[]) as age (seconds)
    cross join lateral (
        select run.id, run.lane, run.trigger, run.claim, run.slot, run.company, run.available_at > run.due_at as delayed
        from sexton.runs as run
        where run.lane = lane.id
            and run.priority = level.priority
            and run.state in ('pending', 'failed')
            and run.available_at > coalesce(:since::timestamptz, (select now from moment) - interval '1 minute')
                - age.seconds * interval '1 second'
            and run.available_at <= (select now from moment) - age.seconds * interval '1 second'
        order by run.available_at
        limit :limit
    ) as run
    where queue.paused_at is null
        and queue.concurrency is null and queue.rate is null and (queue.key_concurrency is null or not lane.keyed)
        and run.company = 0
        and (age.seconds > 0 or run.trigger <> 'schedule' or run.claim > 0 or run.slot is not null or run.delayed)
    group by run.lane
)
select moment.now, unanswered.lane, unanswered.runs
from moment
left join unanswered on true
