-- Set a secret to a sealed value.
insert into sexton.secrets as secret (namespace, name, value, hosts, kinds, created_at, updated_at)
select :namespace, :name, :value, :hosts::text[], :kinds::text[], moment.now, moment.now
from (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
on conflict (namespace, name) do update set value = excluded.value, hosts = excluded.hosts, kinds = excluded.kinds,
    updated_at = excluded.updated_at
returning secret.created_at = secret.updated_at as made
