-- The session with this hash, unless it has ended: by itself, unused for too long, or with the API key it came from.
select session.id, session.name, session.credential, session.key_id, session.grants::text as grants, session.method,
    session.user_id, session.created_at, session.used_at, session.expires_at, key.rate
from sexton.sessions as session
left join sexton.keys as key on key.id = session.key_id
where session.hash = :hash and session.ended_at is null
    and session.expires_at > coalesce(:now, clock_timestamp())
    and session.used_at > coalesce(:now, clock_timestamp()) - :idle_seconds::float8 * interval '1 second'
    and (session.key_id is null or (key.id is not null and key.revoked_at is null
        and (key.expires_at is null or key.expires_at > coalesce(:now, clock_timestamp()))))
