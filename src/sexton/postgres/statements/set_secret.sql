-- Keep a secret: $1 name, $2 sealed value, $3 now.
insert into sexton.secrets as secret (name, value, created_at, updated_at)
select $1, $2, moment.now, moment.now
from (select coalesce($3::timestamptz, clock_timestamp()) as now) as moment
on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at
returning secret.created_at = secret.updated_at as made
