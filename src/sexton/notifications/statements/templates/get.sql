-- A version of a template; the latest if none is named.
select template.template_id, version.version, template.version as latest, version.parts::text, version.variables::text,
       version.defaults::text, version.created_by, version.created_at, template.deleted_at
from sexton.templates as template
join sexton.template_versions as version
    on version.namespace = template.namespace and version.template_id = template.template_id
    and version.version = coalesce(:version::int, template.version)
where template.namespace = :namespace and template.template_id = :template_id
