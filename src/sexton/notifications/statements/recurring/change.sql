-- Change a recurring notification, which is locked.
update sexton.notification_schedules
set spec = :spec::text::jsonb, recurrence_rule = :recurrence_rule, recurrence_end = :recurrence_end, starts_at = :starts_at,
    timezone = :timezone, zone = :zone, is_active = :is_active
where id = :id and namespace = :namespace
