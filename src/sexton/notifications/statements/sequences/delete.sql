-- No recipient enters a sequence any more.
update sexton.sequences set deleted_at = coalesce(:now::timestamptz, clock_timestamp()) where namespace = :namespace and id = :id
