-- Begin a session. It lasts :seconds at most.
insert into sexton.sessions
    (hash, name, credential, key_id, grants, method, address, agent, user_id, created_at, used_at, expires_at)
select :hash, :name, :credential, :key_id, :grants::jsonb, :method, :address, :agent, :user_id, now, now,
    now + :seconds::float8 * interval '1 second'
from (values (coalesce(:now, clock_timestamp()))) as time (now)
returning id, name, method, address, agent, created_at, used_at, expires_at
