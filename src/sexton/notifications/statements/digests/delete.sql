-- Delete a digest: it takes no more events.
update sexton.digests
set deleted_at = coalesce(:now::timestamptz, clock_timestamp()), is_active = false
where namespace = :namespace and id = :id
