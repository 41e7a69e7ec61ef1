-- The value of a setting; :value becomes its value if it has none. This statement does not see a setting that another
-- transaction has just made; its conflict clause does.
with found as materialized (select value from sexton.settings where name = :name),
made as (
    insert into sexton.settings (name, value)
    select :name, :value::jsonb where not exists (select from found)
    on conflict (name) do update set value = settings.value
    returning value
)
select value::text from found union all select value::text from made
