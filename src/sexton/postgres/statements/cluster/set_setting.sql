insert into sexton.settings (name, value) values (:name, :value::jsonb)
on conflict (name) do update set value = excluded.value
