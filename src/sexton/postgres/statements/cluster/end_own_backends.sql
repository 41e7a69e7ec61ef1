-- End sessions of this node, with their locks. The session of another program may have such a number now: ours have
-- names.
select pg_terminate_backend(session.pid)
from pg_stat_activity session
where session.pid = any (:backend_pids) and session.application_name = 'sexton scheduler'
