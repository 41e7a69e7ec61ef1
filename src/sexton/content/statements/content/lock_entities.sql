select entity.entity_type, entity.entity_id, entity.state, entity.published_version, entity.latest_version
from unnest(:types::text[], :ids::text[]) as wanted (entity_type, entity_id)
join sexton.content_entities as entity
    on entity.namespace = :namespace and entity.entity_type = wanted.entity_type and entity.entity_id = wanted.entity_id
order by entity.entity_type, entity.entity_id
for update of entity
