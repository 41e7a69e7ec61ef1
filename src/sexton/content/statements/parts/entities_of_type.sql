-- The entities of a type whose ids begin so, for a list. Expects a row `types` with the type; a condition, the order and a limit follow.
    select entity.entity_type, entity.entity_id, entity.state, entity.published_version, entity.latest_version, entity.updated_at
    from sexton.content_entities as entity
    where entity.namespace = :namespace and entity.entity_type = types.entity_type
        and entity.entity_id >= :first::text and entity.entity_id < :last::text
