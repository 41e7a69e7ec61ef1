-- As list_entities, in the reverse order. At most :look entities before a place are looked at. Planned anew for every call, so that only the filter that is given counts.
select entity_type, entity_id, state, published_version, latest_version, updated_at
from sexton.content_entities
where namespace = :namespace and (entity_type, entity_id) < (:after_type::text, :after_id::text)
    and (:entity_type::text is null or entity_type = :entity_type)
order by entity_type desc, entity_id desc
limit :look
