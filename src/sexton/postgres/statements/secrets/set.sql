-- Set a secret to a sealed value.
insert into sexton.secrets as secret (name, value, created_at, updated_at)
select :name, :value, moment.now, moment.now
from (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at
returning secret.created_at = secret.updated_at as made
