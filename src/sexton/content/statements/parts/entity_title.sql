-- The title of an entity: `title` or `name` of its latest version, if it is kept here. Expects a row `plan` of content_schedules, and an
-- expression in its place.
(
    select left(coalesce(version.body ->> 'title', version.body ->> 'name'), 200)
    from sexton.content_entities as entity
    join sexton.content_versions as version
        on version.namespace = entity.namespace and version.entity_type = entity.entity_type
        and version.entity_id = entity.entity_id and version.version = entity.latest_version
    where plan.adapter = 'builtin' and entity.namespace = plan.namespace and entity.entity_type = plan.entity_type and entity.entity_id = plan.entity_id
)
