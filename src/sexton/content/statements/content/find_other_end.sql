select scheduled_at, done_at from sexton.content_schedules
where namespace = :namespace and window_id = :window_id and id <> :schedule_id and cancelled_at is null
order by id
limit 1
