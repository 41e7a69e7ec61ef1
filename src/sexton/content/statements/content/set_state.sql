update sexton.content_entities
set state = :state, published_version = :version, updated_at = coalesce(:now::timestamptz, clock_timestamp())
where namespace = :namespace and entity_type = :entity_type and entity_id = :entity_id
