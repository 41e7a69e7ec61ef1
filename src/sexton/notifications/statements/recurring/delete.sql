-- Delete a recurring notification.
update sexton.notification_schedules
set deleted_at = coalesce(:now::timestamptz, clock_timestamp()), is_active = false
where id = :id and namespace = :namespace
