-- The unique name of this cluster; made once. What the cluster stores on other servers carries it.
insert into sexton.settings (name, value)
values ('cluster', to_jsonb(gen_random_uuid()::text))
on conflict (name) do update set value = settings.value
returning value #>> '{}' as name
