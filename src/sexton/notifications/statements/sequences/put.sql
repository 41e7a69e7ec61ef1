-- Create or change a sequence.
insert into sexton.sequences as sequence (id, namespace, name, steps, stop_on, topic, changed_by, changed_at)
values (:id, :namespace, :name, :steps::text::jsonb, :stop_on, :topic, :actor, coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace, name) where deleted_at is null do update
set steps = excluded.steps, stop_on = excluded.stop_on, topic = excluded.topic, revision = sequence.revision + 1,
    changed_by = excluded.changed_by, changed_at = excluded.changed_at
