insert into sexton.calendar_feeds (namespace, name, kinds, label, timezone, hash, created_by, created_at)
values (:namespace, :name, :kinds, :label, :timezone, :hash, :actor, coalesce(:now::timestamptz, clock_timestamp()))
returning *
