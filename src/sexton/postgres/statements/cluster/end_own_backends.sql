-- End sessions of this node, with what they have locked. Another program's may have the number of one by now: ours have names.
select pg_terminate_backend(session.pid)
from pg_stat_activity session
where session.pid = any (:backend_pids) and session.application_name = 'sexton scheduler'
