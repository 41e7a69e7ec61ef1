-- The applications whose live workers have a handler (of :app, if it is given; '': a worker without an application), whether one
-- serves `target` (such as http or message:redis), and whether there is a worker at all.
select
    count(*) > 0 as workers,
    coalesce(
        array_agg(distinct coalesce(node.app, '')) filter (
            where :handler::text = any (node.handlers) and (:app::text is null or node.app = :app)
        ),
        '{}'
    ) as having,
    coalesce(bool_or(:target::text = any(node.targets)), false) as served
from sexton.nodes as node
where node.state = 'live' and 'worker' = any(node.roles) and node.lease_until > coalesce(:now::timestamptz, clock_timestamp())
