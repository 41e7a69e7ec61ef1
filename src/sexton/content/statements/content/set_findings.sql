update sexton.content_releases
set findings = :findings::jsonb, checked_at = coalesce(:now::timestamptz, clock_timestamp())
where id = :release_id and namespace = :namespace
