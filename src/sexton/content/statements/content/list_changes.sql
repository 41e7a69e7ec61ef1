select * from sexton.content_changes
where namespace = :namespace and entity_type = :entity_type and entity_id = :entity_id
order by id desc
limit :limit
