-- Queues of a namespace that jobs have used or that have limits or a pause, by name, or the one of a name. In a queue with limits,
-- running runs are counted from the index that the limits use. Elsewhere the number is what workers report by lane with their
-- heartbeats, and what waits for a report: an index of all running runs would be written by every claim. Runs that wait to start
-- are counted up to `most` per lane.
with held as materialized (
    select told.lane::integer as lane, told.runs::bigint as runs
    from sexton.nodes as node
    cross join lateral jsonb_each_text(node.detail -> 'lanes') as told (lane, runs)
    where node.lease_until > clock_timestamp() and node.state <> 'dead'
    union all
    -- Workers over HTTP: their rows have the runs themselves.
    select run.lane, 1
    from sexton.nodes as node
    join sexton.runs as run on run.id = any (node.begun) and run.node = node.id and run.state = 'running'
    where node.credential is not null and node.lease_until > clock_timestamp() and node.state <> 'dead'
    union all
    (select run.lane, 1 from sexton.runs as run where run.state = 'waiting' limit :most)
)
select named.name, queue.paused_at, queue.paused_reason, queue.concurrency, queue.key_concurrency, queue.rate, queue.burst,
    case
        when queue.concurrency is not null or queue.key_concurrency is not null or queue.rate is not null then (
            select count(*) from sexton.runs as run where run.limited_by = queue.id and run.state in ('running', 'waiting')
        )
        else (
            select coalesce(sum(held.runs), 0)::bigint
            from held
            join sexton.lanes as lane on lane.id = held.lane
            where lane.namespace = :namespace and lane.queue = named.name
        )
    end as running,
    coalesce(backlog.waiting, 0)::bigint as waiting, backlog.oldest_available_at, backlog.lanes > 0 as used
-- include: named_queues
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
                and run.available_at <= coalesce(:now::timestamptz, clock_timestamp())
            limit :most
        ) as due
    ) as there
    where lane.namespace = :namespace and lane.queue = named.name
) as backlog
where :name::text is null or named.name = :name
order by named.name
