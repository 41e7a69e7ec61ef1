select scheduled_at from sexton.content_schedules
where window_id = :window_id and id <> :window_id and cancelled_at is null
order by id
limit 1
