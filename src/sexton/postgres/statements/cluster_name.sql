-- A name for this cluster that no other has, made once: what it keeps elsewhere is kept under it.
insert into sexton.settings (name, value)
values ('cluster', to_jsonb(gen_random_uuid()::text))
on conflict (name) do update set value = settings.value
returning value #>> '{}' as name
