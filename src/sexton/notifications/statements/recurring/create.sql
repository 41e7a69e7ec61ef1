-- Create a recurring notification; its job exists.
insert into sexton.notification_schedules (
    id, namespace, name, user_id, spec, recurrence_rule, recurrence_end, starts_at, timezone, zone, job_id, is_active, created_by,
    created_at
)
values (
    :id, :namespace, :name, :user_id, :spec::text::jsonb, :recurrence_rule, :recurrence_end, :starts_at, :timezone, :zone, :job_id,
    :is_active, :created_by, coalesce(:now::timestamptz, clock_timestamp())
)
