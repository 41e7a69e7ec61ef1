-- Queues that jobs have used or that people have said something about, by name, or the one named $2. What runs is counted
-- only where there are limits, from the index that the limits go by; what waits is counted up to $3 per lane. $1 namespace,
-- $4 now
select named.name, queue.paused_at, queue.paused_reason, queue.concurrency, queue.key_concurrency, queue.rate, queue.burst,
    case when queue.concurrency is not null or queue.key_concurrency is not null or queue.rate is not null then (
        select count(*) from sexton.runs as run where run.limited_by = queue.id and run.state in ('running', 'waiting')
    ) end as running,
    coalesce(backlog.waiting, 0)::bigint as waiting, backlog.oldest_available_at, backlog.lanes > 0 as used
from (
    select lane.queue as name from sexton.lanes as lane
    union
    select queue.name from sexton.queues as queue where queue.namespace = $1
) as named
left join sexton.queues as queue on queue.namespace = $1 and queue.name = named.name
cross join lateral (
    select count(*) as lanes, sum(there.waiting) as waiting, min(there.oldest) as oldest_available_at
    from sexton.lanes as lane
    cross join lateral (
        select count(*) as waiting, min(due.available_at) as oldest
        from (
            select run.available_at
            from sexton.runs as run
            where run.lane = lane.id
                and run.state in ('pending', 'failed')
                and run.available_at <= coalesce($4::timestamptz, clock_timestamp())
            limit $3
        ) as due
    ) as there
    where lane.queue = named.name
) as backlog
where $2::text is null or named.name = $2
order by named.name
