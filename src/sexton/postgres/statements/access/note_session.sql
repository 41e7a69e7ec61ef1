-- Note that a session is used.
update sexton.sessions set used_at = greatest(used_at, coalesce(:now, clock_timestamp()))
where id = :session_id and ended_at is null
returning used_at
