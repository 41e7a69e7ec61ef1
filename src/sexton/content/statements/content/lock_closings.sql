-- Lock the actions that close the window and are not done.
select * from sexton.content_schedules
where window_id = :window_id and id <> :window_id and done_at is null and cancelled_at is null
order by id
for update
