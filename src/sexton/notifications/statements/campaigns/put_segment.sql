-- Create or change a segment.
insert into sexton.segments (namespace, name, filter, path, description, changed_by, changed_at)
values (:namespace, :name, :filter::text::jsonb, :path, :description, :actor, coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace, name) do update
set filter = excluded.filter, path = excluded.path, description = excluded.description, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at
