-- The titles of these entities: `title` or `name` of their latest versions.
select entity.entity_type, entity.entity_id, left(coalesce(version.body ->> 'title', version.body ->> 'name'), 200) as title
from unnest(:types::text[], :ids::text[]) as wanted (entity_type, entity_id)
join sexton.content_entities as entity
    on entity.namespace = :namespace and entity.entity_type = wanted.entity_type and entity.entity_id = wanted.entity_id
join sexton.content_versions as version
    on version.namespace = entity.namespace and version.entity_type = entity.entity_type
    and version.entity_id = entity.entity_id and version.version = entity.latest_version
