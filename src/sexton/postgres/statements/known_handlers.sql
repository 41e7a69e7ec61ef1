-- Which of these handlers a live worker has, whether one has this target, and whether there is a worker at all.
-- $1 handlers, $2 now, $3 a target such as http or message:redis
select
    count(*) > 0 as workers,
    coalesce(array_agg(distinct handler) filter (where handler is not null), '{}') as known,
    coalesce(bool_or($3::text = any(node.targets)), false) as served
from sexton.nodes as node
left join lateral unnest(node.handlers) as handler on handler = any($1::text[])
where node.state = 'live' and 'worker' = any(node.roles) and node.lease_until > coalesce($2::timestamptz, clock_timestamp())
