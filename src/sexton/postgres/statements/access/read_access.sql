-- Every namespace, and every key that is not revoked.
select name as namespace, null::bigint as id, null::text as name, null::text as role, null::bytea as hash,
    null::timestamptz as expires_at, null::float8 as rate
from sexton.namespaces
union all
select namespace, id, name, role, hash, expires_at, rate from sexton.keys where revoked_at is null
