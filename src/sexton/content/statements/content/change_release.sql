-- The items of a release were changed: an earlier approval no longer holds.
update sexton.content_releases
set approved_at = null, approved_by = null, revision = revision + 1
where id = :release_id and namespace = :namespace
