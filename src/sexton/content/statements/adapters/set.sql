insert into sexton.content_adapters as adapter (namespace, name, kind, config, changed_by, changed_at)
values (:namespace, :name, :kind, :config::jsonb, :actor, coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace, name) do update
set config = excluded.config, revision = adapter.revision + 1, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at
