-- End sessions of this node, with their locks. A session of another program may have one of these pids now: the name
-- tells Sexton's sessions apart.
select pg_terminate_backend(session.pid)
from pg_stat_activity session
where session.pid = any (:backend_pids) and session.application_name = 'sexton scheduler'
