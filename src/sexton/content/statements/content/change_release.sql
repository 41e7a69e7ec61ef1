-- Its items were changed: who approved it had approved something else.
update sexton.content_releases
set approved_at = null, approved_by = null, revision = revision + 1
where id = :release_id and namespace = :namespace
