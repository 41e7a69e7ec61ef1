select state, published_version, latest_version from sexton.content_entities
where namespace = :namespace and entity_type = :entity_type and entity_id = :entity_id
for update
