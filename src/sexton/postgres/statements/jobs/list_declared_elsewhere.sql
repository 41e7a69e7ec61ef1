-- The handlers of the live workers of a namespace's application, without those of this process: the names of its nodes begin with `mine`.
select distinct handler
from sexton.nodes as node, unnest(node.handlers) as handler
where node.app = :app and node.namespace = :namespace and node.state <> 'dead' and not starts_with(node.name, :mine)
  and node.lease_until > coalesce(:now::timestamptz, clock_timestamp())
