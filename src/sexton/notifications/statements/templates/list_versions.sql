select version, created_by, created_at, (select array_agg(locale order by locale) from jsonb_object_keys(parts) as locale) as locales
from sexton.template_versions
where namespace = :namespace and template_id = :template_id and version < :before
order by version desc
limit :limit
