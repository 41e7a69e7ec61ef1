-- End the sessions of schedulers that hold shards though their lease is over.
select n.name, pg_terminate_backend(pid)
from sexton.nodes n
cross join unnest(n.backend_pids) as pid
where n.id in (select holder from sexton.shards) and (n.state = 'dead' or n.lease_until < clock_timestamp())
