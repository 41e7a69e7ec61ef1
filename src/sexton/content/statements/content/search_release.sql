-- A release by its id, as search shows it.
select id, note, created_by, scheduled_at from sexton.content_releases where id = :release_id and namespace = :namespace
