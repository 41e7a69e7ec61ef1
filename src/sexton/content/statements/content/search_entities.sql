-- As list_entities, of those whose ids begin so: type after type, each by its part of the key.
with recursive types as (
    (
        select entity.entity_type
        from sexton.content_entities as entity
        where entity.namespace = :namespace and entity.entity_type >= :after_type::text
        order by entity.entity_type
        limit 1
    )
    union all
    select (
        select entity.entity_type
        from sexton.content_entities as entity
        where entity.namespace = :namespace and entity.entity_type > types.entity_type
        order by entity.entity_type
        limit 1
    )
    from types
    where types.entity_type is not null
)
select found.*
from types
cross join lateral (
-- include: entities_of_type
        and (entity.entity_type, entity.entity_id) > (:after_type::text, :after_id::text)
    order by entity.entity_id
    limit :look
) as found
where :entity_type::text is null or types.entity_type = :entity_type
order by found.entity_type, found.entity_id
limit :look
