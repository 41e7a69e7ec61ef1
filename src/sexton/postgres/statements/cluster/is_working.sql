-- Whether PostgreSQL is executing a statement for these sessions, or sending an answer. A session that waits for its
-- client does neither.
select exists (
    select from pg_stat_activity session
    where session.pid = any (:backend_pids) and session.application_name = 'sexton scheduler'
      and session.state = 'active' and session.wait_event is distinct from 'ClientRead'
)
