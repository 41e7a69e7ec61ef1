select * from sexton.content_schedules
where release_id = any (:ids::bigint[]) and namespace = :namespace
order by release_id, place
