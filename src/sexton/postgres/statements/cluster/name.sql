-- The unique name of this cluster; made once. It names what the cluster stores on other servers.
insert into sexton.settings (name, value)
values ('cluster', to_jsonb(gen_random_uuid()::text))
on conflict (name) do update set value = settings.value
returning value #>> '{}' as name
