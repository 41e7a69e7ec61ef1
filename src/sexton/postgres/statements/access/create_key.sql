-- Make a key, unless the namespace does not exist. Processes that serve the API read the keys again.
with changed as (update sexton.access_version set version = version + 1)
insert into sexton.keys (namespace, name, role, hash, beginning, created_by, created_at, expires_at, rate)
select :namespace, :name, :role, :hash, :beginning, :actor, coalesce(:now, clock_timestamp()), :expires_at, :rate::float8
where :namespace = '*' or exists (select from sexton.namespaces where name = :namespace)
returning id, namespace, name, role, beginning, created_by, created_at, expires_at, revoked_at, last_used_at, rate
