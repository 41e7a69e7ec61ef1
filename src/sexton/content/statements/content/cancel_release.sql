with items as (
    update sexton.content_schedules
    set cancelled_at = coalesce(:now::timestamptz, clock_timestamp()), cancelled_by = :actor
    where release_id = :release_id and namespace = :namespace and cancelled_at is null and result is null
)
update sexton.content_releases
set cancelled_at = coalesce(:now::timestamptz, clock_timestamp()), cancelled_by = :actor, revision = revision + 1
where id = :release_id and namespace = :namespace
