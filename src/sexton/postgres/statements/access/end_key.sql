-- Let a key of a namespace (`*`: of any) end: revoked now, or, with :expires_at, no later than then.
with changed as (update sexton.access_version set version = version + 1)
update sexton.keys
set revoked_at = case when :expires_at::timestamptz is null then coalesce(revoked_at, :now, clock_timestamp()) else revoked_at end,
    expires_at = case when :expires_at::timestamptz is null then expires_at else least(expires_at, :expires_at) end
where id = :key_id and (:namespace::text = '*' or namespace = :namespace)
returning id, namespace, name, role, beginning, created_by, created_at, expires_at, revoked_at, last_used_at
