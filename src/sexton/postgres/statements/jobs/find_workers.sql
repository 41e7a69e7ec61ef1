-- Which of these handlers a live worker has, whether one serves `target` (such as http or message:redis), and whether there is
-- a worker at all.
select
    count(*) > 0 as workers,
    coalesce(array_agg(distinct handler) filter (where handler is not null), '{}') as known,
    coalesce(bool_or(:target::text = any(node.targets)), false) as served
from sexton.nodes as node
left join lateral unnest(node.handlers) as handler on handler = any(:handlers::text[])
where node.state = 'live' and 'worker' = any(node.roles) and node.lease_until > coalesce(:now::timestamptz, clock_timestamp())
