insert into sexton.settings (name, value) values ($1, $2::jsonb)
on conflict (name) do update set value = excluded.value
