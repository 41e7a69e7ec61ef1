select entity.state, entity.published_version, entity.latest_version, version.body
from sexton.content_entities as entity
left join sexton.content_versions as version
    on version.namespace = entity.namespace and version.entity_type = entity.entity_type
    and version.entity_id = entity.entity_id and version.version = entity.latest_version
where entity.namespace = :namespace and entity.entity_type = :entity_type and entity.entity_id = :entity_id
