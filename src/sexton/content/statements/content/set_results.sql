-- What became of items of a release.
update sexton.content_schedules as item
set result = wanted.result, error = wanted.error,
    state_before = coalesce(item.state_before, wanted.state_before),
    version_before = coalesce(item.version_before, wanted.version_before)
from unnest(:schedules::bigint[], :results::text[], :errors::text[], :states_before::text[], :versions_before::integer[])
    as wanted (id, result, error, state_before, version_before)
where item.id = wanted.id and item.namespace = :namespace
