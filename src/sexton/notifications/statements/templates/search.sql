-- Templates of a namespace whose ids begin so.
select template.template_id, template.version
from sexton.templates as template
where template.namespace = :namespace and template.deleted_at is null and template.template_id like :pattern
order by template.template_id
limit :limit
