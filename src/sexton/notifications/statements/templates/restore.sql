-- Restore a deleted template; no row if it was not deleted.
update sexton.templates
set deleted_at = null, updated_by = :actor
where namespace = :namespace and template_id = :template_id and deleted_at is not null
returning version
