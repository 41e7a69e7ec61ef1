-- End the database sessions of a scheduler whose lease has ended, or whose shards the elector has given to this node
-- (:final). After a restart of PostgreSQL, a session of another program may have one of these pids: the name tells Sexton's sessions apart.
select pg_terminate_backend(session.pid)
from sexton.nodes n
join pg_stat_activity session on session.pid = any (n.backend_pids) and session.application_name like 'sexton %'
where n.id = :node and (:final or n.state = 'dead' or n.lease_until < clock_timestamp())
