-- What live workers of an application have handlers for, this process aside. $1 app, $2 how its nodes' names begin, $3 now
select distinct handler
from sexton.nodes as node, unnest(node.handlers) as handler
where node.app = $1 and node.state <> 'dead' and not starts_with(node.name, $2)
  and node.lease_until > coalesce($3::timestamptz, clock_timestamp())
