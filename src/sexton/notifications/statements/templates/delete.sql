update sexton.templates
set deleted_at = coalesce(:now::timestamptz, clock_timestamp()), updated_by = :actor
where namespace = :namespace and template_id = :template_id and deleted_at is null
returning version
