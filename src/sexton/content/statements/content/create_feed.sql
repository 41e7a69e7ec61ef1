insert into sexton.content_feeds (namespace, name, entity_type, author, hash, created_by, created_at)
values (:namespace, :name, :entity_type, :author, :hash, :actor, coalesce(:now::timestamptz, clock_timestamp()))
returning *
