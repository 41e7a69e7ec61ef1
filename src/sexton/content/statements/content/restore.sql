-- Plan cancelled actions again.
update sexton.content_schedules
set cancelled_at = null, cancelled_by = null, revision = revision + 1
where id = :schedule_id
