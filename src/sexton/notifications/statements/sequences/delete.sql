-- Delete a sequence: no recipient enters it from now on.
update sexton.sequences set deleted_at = coalesce(:now::timestamptz, clock_timestamp()) where namespace = :namespace and id = :id
