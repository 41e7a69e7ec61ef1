-- End the database sessions of a scheduler whose lease is over. $1 node
select pg_terminate_backend(pid)
from sexton.nodes n
cross join unnest(n.backend_pids) as pid
where n.id = $1 and (n.state = 'dead' or n.lease_until < clock_timestamp())
