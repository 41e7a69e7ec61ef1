insert into sexton.notification_health as health (namespace, name, channel, open_until, open_reason, opened_at)
values (
    :namespace, :name, :channel, coalesce(:now::timestamptz, clock_timestamp()) + make_interval(secs => :seconds::float8), :reason,
    coalesce(:now::timestamptz, clock_timestamp())
)
on conflict (namespace, name, channel) do update
set open_until = greatest(health.open_until, excluded.open_until), open_reason = excluded.open_reason,
    opened_at = excluded.opened_at
