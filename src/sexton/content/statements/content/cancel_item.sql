update sexton.content_schedules
set cancelled_at = coalesce(:now::timestamptz, clock_timestamp()), cancelled_by = :actor, revision = revision + 1
where id = :schedule_id and release_id = :release_id and namespace = :namespace and cancelled_at is null
returning id
