update sexton.content_entities as entity
set state = wanted.state, published_version = wanted.version, updated_at = coalesce(:now::timestamptz, clock_timestamp())
from unnest(:types::text[], :ids::text[], :states::text[], :versions::integer[])
    as wanted (entity_type, entity_id, state, version)
where entity.namespace = :namespace and entity.entity_type = wanted.entity_type and entity.entity_id = wanted.entity_id
