-- Note that keys were used.
update sexton.keys as key set last_used_at = greatest(key.last_used_at, used.at)
from unnest(:ids::bigint[], :times::timestamptz[]) as used (id, at)
where key.id = used.id
