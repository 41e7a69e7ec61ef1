-- The templates of a namespace whose ids are in a range, with their latest versions. Gives `found`.
with found as (
    select template.template_id, version.version, template.version as latest, version.parts::text, version.variables::text,
           version.defaults::text, version.created_by, version.created_at, template.deleted_at
    from sexton.templates as template
    join sexton.template_versions as version
        on version.namespace = template.namespace and version.template_id = template.template_id
        and version.version = template.version
    where template.namespace = :namespace and template.deleted_at is null
        and template.template_id >= :first and template.template_id < :last
)
