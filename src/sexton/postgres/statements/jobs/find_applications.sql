-- Of these handlers, those that several applications have, by the live workers that serve the namespace; with the names of the applications.
select wanted.handler, array_agg(distinct node.app) as having
from unnest(:handlers::text[]) as wanted (handler)
join sexton.nodes as node on wanted.handler = any (node.handlers)
where node.app is not null and node.state = 'live' and 'worker' = any (node.roles)
    and ('*' = any (node.namespaces) or :namespace::text = any (node.namespaces))
    and node.lease_until > coalesce(:now::timestamptz, clock_timestamp())
group by wanted.handler
having count(distinct node.app) > 1
