-- Versions of templates; the latest where none is named.
select wanted.template_id, version.version, template.version as latest, version.parts::text, version.variables::text,
       version.defaults::text, template.deleted_at
from unnest(:template_ids::text[], :versions::int[]) as wanted (template_id, version)
join sexton.templates as template on template.namespace = :namespace and template.template_id = wanted.template_id
join sexton.template_versions as version
    on version.namespace = template.namespace and version.template_id = template.template_id
    and version.version = coalesce(wanted.version, template.version)
