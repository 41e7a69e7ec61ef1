insert into sexton.notification_settings as settings (
    namespace, timezone, locale, quiet_hours, quiet_passes, caps, changed_by, changed_at
)
values (
    :namespace, :timezone, :locale, :quiet_hours::text::jsonb, :quiet_passes, :caps::text::jsonb, :actor,
    coalesce(:now::timestamptz, clock_timestamp())
)
on conflict (namespace) do update
set timezone = excluded.timezone, locale = excluded.locale, quiet_hours = excluded.quiet_hours,
    quiet_passes = excluded.quiet_passes, caps = excluded.caps, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at
