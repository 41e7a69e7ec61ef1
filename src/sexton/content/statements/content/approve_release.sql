update sexton.content_releases
set approved_at = coalesce(:now::timestamptz, clock_timestamp()), approved_by = :actor, revision = revision + 1
where id = :release_id and namespace = :namespace and approved_at is null
