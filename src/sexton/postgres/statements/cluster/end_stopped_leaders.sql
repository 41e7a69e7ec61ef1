-- End the sessions of schedulers that hold shards although their lease has ended.
select n.name, pg_terminate_backend(session.pid)
from sexton.nodes n
join pg_stat_activity session on session.pid = any (n.backend_pids) and session.application_name like 'sexton %'
where n.id in (select holder from sexton.shards) and (n.state = 'dead' or n.lease_until < clock_timestamp())
