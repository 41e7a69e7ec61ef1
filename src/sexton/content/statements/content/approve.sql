update sexton.content_schedules
set approved_at = coalesce(:now::timestamptz, clock_timestamp()), approved_by = :actor, revision = revision + 1
where id = :schedule_id and approved_at is null
