select version, deleted_at from sexton.templates
where namespace = :namespace and template_id = :template_id
for update
