-- Entities of `builtin` with these words in the title of their latest version, the latest changed first.
select entity.entity_type, entity.entity_id, entity.state, left(coalesce(version.body ->> 'title', version.body ->> 'name'), 200) as title
from sexton.content_versions as version
join sexton.content_entities as entity
    on entity.namespace = version.namespace and entity.entity_type = version.entity_type
    and entity.entity_id = version.entity_id and entity.latest_version = version.version
where version.namespace = :namespace
    and sexton.title_words(version.namespace, version.body) @@ :words::tsquery
order by entity.updated_at desc, entity.entity_type, entity.entity_id
limit :limit
