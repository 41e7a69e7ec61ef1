select version, created_by, created_at from sexton.content_versions
where namespace = :namespace and entity_type = :entity_type and entity_id = :entity_id
order by version desc
limit :limit
