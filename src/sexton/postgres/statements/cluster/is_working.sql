-- Whether PostgreSQL works on something for these sessions, or sends an answer: one that waits for its client does not.
select exists (
    select from pg_stat_activity session
    where session.pid = any (:backend_pids) and session.application_name = 'sexton scheduler'
      and session.state = 'active' and session.wait_event is distinct from 'ClientRead'
)
