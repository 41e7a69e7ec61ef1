-- Providers of a channel in the order in which they are tried, with the health that other processes recorded.
select
    provider.name, provider.kind, provider.config, provider.priority, provider.rate, provider.concurrency, provider.on_doubt,
    provider.revision,
    extract(epoch from health.open_until - coalesce(:now::timestamptz, clock_timestamp()))::float8 as open_seconds,
    health.open_reason
from sexton.notification_providers provider
left join sexton.notification_health health
    on health.namespace = provider.namespace and health.name = provider.name and health.channel = provider.channel
where provider.namespace = :namespace and provider.channel = :channel and provider.enabled
order by provider.priority, provider.name
limit :limit
