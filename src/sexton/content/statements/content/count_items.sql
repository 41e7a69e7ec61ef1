select count(*) from sexton.content_schedules where release_id = :release_id and namespace = :namespace
