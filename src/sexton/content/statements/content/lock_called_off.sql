-- What closes the window, and was called off together with what opens it.
select * from sexton.content_schedules
where window_id = :window_id and id <> :window_id and done_at is null and cancelled_at = :cancelled_at
order by id
for update
