-- A version of a template, the latest if none is given, with its variables and defaults.
select template.template_id, version.version, version.variables, version.defaults, version.parts
from sexton.templates as template
join sexton.template_versions as version
    on version.namespace = template.namespace and version.template_id = template.template_id
    and version.version = coalesce(:version::integer, template.version)
where template.namespace = :namespace and template.template_id = :template_id and template.deleted_at is null
