-- End the database sessions of a scheduler whose lease is over, or whose shards the elector has given to us.
-- $1 node, $2 whether the elector's word is enough
select pg_terminate_backend(pid)
from sexton.nodes n
cross join unnest(n.backend_pids) as pid
where n.id = $1 and ($2 or n.state = 'dead' or n.lease_until < clock_timestamp())
