-- Entities that plans of an adapter name, after a place. At most :look plans are looked at. Planned anew for every call.
with looked as materialized (
    select entity_type, entity_id, adapter
    from sexton.content_schedules
    where namespace = :namespace and (entity_type, entity_id) > (:after_type::text, :after_id::text)
        and (:entity_type::text is null or entity_type = :entity_type)
    order by entity_type, entity_id
    limit :look
),
found as (
    select distinct entity_type, entity_id from looked where adapter = :adapter
    order by entity_type, entity_id
    limit :limit
),
last as (
    select entity_type, entity_id from looked order by entity_type desc, entity_id desc limit 1
)
select entity_type, entity_id, true as found from found
union all
-- Where the next page begins, if there may be one.
select entity_type, entity_id, false from last where (select count(*) from looked) = :look
order by found desc, entity_type, entity_id
