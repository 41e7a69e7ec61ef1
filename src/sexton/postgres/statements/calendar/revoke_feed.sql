-- Twice is once.
update sexton.calendar_feeds
set revoked_at = coalesce(revoked_at, :now::timestamptz, clock_timestamp()), revoked_by = coalesce(revoked_by, :actor)
where id = :feed_id and namespace = :namespace
returning *
