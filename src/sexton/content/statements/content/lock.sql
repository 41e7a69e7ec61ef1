select * from sexton.content_schedules where id = :schedule_id and namespace = :namespace for update
