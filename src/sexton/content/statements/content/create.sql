insert into sexton.content_schedules (
    id, namespace, entity_type, entity_id, action, adapter, version, note, created_by, created_at, job_id, timezone,
    recurrence_rule, scheduled_at, needs_approval, window_id, opened_at, open_for, catch_up_seconds
)
values (
    :id, :namespace, :entity_type, :entity_id, :action, :adapter, :version, :note, :created_by,
    coalesce(:now::timestamptz, clock_timestamp()), :job_id, :timezone, :recurrence_rule, :scheduled_at,
    :needs_approval, :window_id, :opened_at, :open_for, :catch_up_seconds
)
