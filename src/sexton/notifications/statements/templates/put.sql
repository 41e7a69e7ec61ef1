-- The next version of a template.
with latest as (
    insert into sexton.templates as template (
        namespace, template_id, version, created_by, created_at, updated_by, updated_at
    )
    values (
        :namespace, :template_id, 1, :actor, coalesce(:now::timestamptz, clock_timestamp()), :actor,
        coalesce(:now::timestamptz, clock_timestamp())
    )
    on conflict (namespace, template_id) do update
    set version = template.version + 1, updated_by = excluded.updated_by, updated_at = excluded.updated_at, deleted_at = null
    returning version, updated_at
)
insert into sexton.template_versions (
    namespace, template_id, version, parts, variables, defaults, created_by, created_at
)
select :namespace, :template_id, version, :parts::text::jsonb, :variables::text::jsonb, :defaults::text::jsonb, :actor, updated_at
from latest
returning version
