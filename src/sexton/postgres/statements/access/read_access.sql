-- Every namespace, and every key that is not revoked.
select name as namespace, null::bigint as id, null::text as name, null::text as role, null::bytea as hash,
    null::timestamptz as expires_at
from sexton.namespaces
union all
select namespace, id, name, role, hash, expires_at from sexton.keys where revoked_at is null
