-- The lanes that a worker can serve: of its namespaces and its queues (null: all), and of its handlers or targets (such
-- as http, or message:redis). A handler in `shared` names no application: its lane is left out while a live worker of
-- another application has such a handler too and serves the namespace, since the job does not say which of the two it means.
-- `limited`: it must be claimed under the limits of its queue. Lanes of paused queues are left out.
with others as materialized (
    select node.handlers, node.namespaces
    from sexton.nodes as node
    where node.app <> :app::text and node.state = 'live' and 'worker' = any (node.roles)
        and node.lease_until > clock_timestamp()
)
select lane.id, lane.queue, lane.target, lane.handler,
    coalesce(
        queue.concurrency is not null or queue.rate is not null or (lane.keyed and queue.key_concurrency is not null), false
    ) as limited
from sexton.lanes as lane
left join sexton.queues as queue on queue.namespace = lane.namespace and queue.name = lane.queue
where (:namespaces::text[] is null or lane.namespace = any (:namespaces::text[]))
    and (:queues::text[] is null or lane.queue = any (:queues::text[]))
    and case lane.target
        when 'handler' then lane.handler = any (:handlers::text[]) and not (
            lane.handler = any (:shared::text[]) and exists (
                select from others
                where lane.handler = any (others.handlers)
                    and ('*' = any (others.namespaces) or lane.namespace = any (others.namespaces))
            )
        )
        else lane.target || case lane.handler when '' then '' else ':' || lane.handler end = any (:targets::text[])
    end
    and queue.paused_at is null
order by lane.id
