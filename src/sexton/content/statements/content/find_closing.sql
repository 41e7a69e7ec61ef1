select id from sexton.content_schedules where window_id = :window_id and id <> :window_id order by id limit 1
