-- The action that closes the window, if it was cancelled together with the action that opens it.
select * from sexton.content_schedules
where window_id = :window_id and id <> :window_id and done_at is null and cancelled_at = :cancelled_at
order by id
for update
