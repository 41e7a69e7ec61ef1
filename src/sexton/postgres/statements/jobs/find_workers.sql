-- Of the live workers that serve a namespace: the applications that have a handler (only :app, if it is given; '' is a worker
-- without an application), whether one serves `target` (such as http or message:redis), and whether there is any such worker.
-- `running`: whether any namespace has a live worker.
select
    count(*) filter (where node.serving) > 0 as workers,
    count(*) > 0 as running,
    coalesce(
        array_agg(distinct coalesce(node.app, '')) filter (
            where node.serving and :handler::text = any (node.handlers) and (:app::text is null or node.app = :app)
        ),
        '{}'
    ) as having,
    coalesce(bool_or(:target::text = any(node.targets)) filter (where node.serving), false) as served
from (
    select *, '*' = any (namespaces) or :namespace::text = any (namespaces) as serving from sexton.nodes
) as node
where node.state = 'live' and 'worker' = any(node.roles)
    and node.lease_until > coalesce(:now::timestamptz, clock_timestamp())
