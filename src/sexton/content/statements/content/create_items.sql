-- Items of a release, after those that it has.
insert into sexton.content_schedules (
    id, namespace, entity_type, entity_id, action, adapter, version, note, created_by, created_at, job_id, timezone,
    scheduled_at, release_id, place
)
select nextval('sexton.content_ids'), release.namespace, item.entity_type, item.entity_id, item.action, release.adapter,
       item.version, item.note, release.created_by, coalesce(:now::timestamptz, clock_timestamp()), release.job_id,
       release.timezone, release.scheduled_at, release.id,
       item.place + coalesce((select max(place) from sexton.content_schedules where release_id = release.id), 0)
from sexton.content_releases as release
cross join unnest(:types::text[], :ids::text[], :actions::text[], :versions::integer[], :notes::text[])
    with ordinality as item (entity_type, entity_id, action, version, note, place)
where release.id = :release_id and release.namespace = :namespace
order by item.place
