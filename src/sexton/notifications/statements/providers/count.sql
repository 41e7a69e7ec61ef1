insert into sexton.notification_health as health
    (namespace, name, channel, accepted, rejected, failed, unclear, deferred, accepted_at, failed_at, failure)
values (
    :namespace, :name, :channel, :accepted, :rejected, :failed, :unclear, :deferred,
    case when :accepted::bigint > 0 then coalesce(:now::timestamptz, clock_timestamp()) end,
    case when :failure::text is not null then coalesce(:now::timestamptz, clock_timestamp()) end,
    :failure
)
on conflict (namespace, name, channel) do update
set accepted = health.accepted + excluded.accepted, rejected = health.rejected + excluded.rejected,
    failed = health.failed + excluded.failed, unclear = health.unclear + excluded.unclear,
    deferred = health.deferred + excluded.deferred,
    accepted_at = coalesce(excluded.accepted_at, health.accepted_at),
    failed_at = coalesce(excluded.failed_at, health.failed_at),
    failure = coalesce(excluded.failure, health.failure)
