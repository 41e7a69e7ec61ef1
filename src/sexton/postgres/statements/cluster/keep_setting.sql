-- The value of a setting; :value becomes its value if it has none.
with made as (
    insert into sexton.settings (name, value) values (:name, :value::jsonb)
    on conflict (name) do nothing returning value
)
select value::text from made
union all select value::text from sexton.settings where name = :name
limit 1
