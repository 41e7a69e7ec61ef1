-- The setting $1, made with the value $2 if it is not there.
with made as (
    insert into sexton.settings (name, value) values ($1, $2::jsonb)
    on conflict (name) do nothing returning value
)
select value::text from made
union all select value::text from sexton.settings where name = $1
limit 1
