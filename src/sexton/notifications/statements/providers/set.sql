insert into sexton.notification_providers as provider
    (namespace, name, channel, kind, config, priority, rate, concurrency, on_doubt, enabled, changed_by, changed_at)
values
    (:namespace, :name, :channel, :kind, :config::jsonb, :priority, :rate, :concurrency, :on_doubt, :enabled, :actor,
    coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace, name) do update
set kind = excluded.kind, config = excluded.config, priority = excluded.priority, rate = excluded.rate,
    concurrency = excluded.concurrency, on_doubt = excluded.on_doubt, enabled = excluded.enabled,
    revision = provider.revision + 1, changed_by = excluded.changed_by, changed_at = excluded.changed_at
