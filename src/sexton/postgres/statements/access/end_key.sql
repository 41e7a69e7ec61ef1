-- End a key of a namespace (`*`: of any): revoke it now, or, with :expires_at, let it end no later than then. Also returns when it would
-- have ended (expired_at), and when it was revoked before (ended_at).
with changed as (update sexton.access_version set version = version + 1),
found as materialized (
    select id, expires_at, revoked_at
    from sexton.keys
    where id = :key_id and (:namespace::text = '*' or namespace = :namespace)
    for no key update
)
update sexton.keys as key
set revoked_at = case when :expires_at::timestamptz is null then coalesce(key.revoked_at, :now, clock_timestamp()) else key.revoked_at end,
    expires_at = case when :expires_at::timestamptz is null then key.expires_at else least(key.expires_at, :expires_at) end
from found
where key.id = found.id
returning key.id, key.namespace, key.name, key.role, key.beginning, key.created_by, key.created_at, key.expires_at, key.revoked_at,
    key.last_used_at, key.rate, found.expires_at as expired_at, found.revoked_at as ended_at
