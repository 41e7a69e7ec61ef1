-- Create or change a digest.
insert into sexton.digests (
    id, namespace, name, template_id, channels, schedule, most_events, topic, urgency, expires_seconds, is_active, changed_by, changed_at
)
values (
    :id, :namespace, :name, :template_id, :channels, :schedule, :most_events, :topic, :urgency, :expires_seconds, :is_active, :actor,
    coalesce(:now::timestamptz, clock_timestamp())
)
on conflict (namespace, name) where deleted_at is null do update
set template_id = excluded.template_id, channels = excluded.channels, schedule = excluded.schedule,
    most_events = excluded.most_events, topic = excluded.topic, urgency = excluded.urgency,
    expires_seconds = excluded.expires_seconds, is_active = excluded.is_active, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at
