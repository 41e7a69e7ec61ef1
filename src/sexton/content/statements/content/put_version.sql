with entity as (
    insert into sexton.content_entities as known (namespace, entity_type, entity_id, latest_version, updated_at)
    values (:namespace, :entity_type, :entity_id, 1, coalesce(:now::timestamptz, clock_timestamp()))
    on conflict (namespace, entity_type, entity_id)
        do update set latest_version = known.latest_version + 1, updated_at = excluded.updated_at
    returning latest_version
)
insert into sexton.content_versions (namespace, entity_type, entity_id, version, body, created_by, created_at)
select :namespace, :entity_type, :entity_id, latest_version, :body::jsonb, :created_by,
       coalesce(:now::timestamptz, clock_timestamp())
from entity
