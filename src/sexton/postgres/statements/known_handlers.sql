-- Which of these handlers a live worker has, and whether there is a worker at all. $1 handlers, $2 now
select count(*) > 0 as workers, coalesce(array_agg(distinct handler) filter (where handler is not null), '{}') as known
from sexton.nodes as node
left join lateral unnest(node.handlers) as handler on handler = any($1::text[])
where node.state = 'live' and 'worker' = any(node.roles) and node.lease_until > coalesce($2::timestamptz, clock_timestamp())
