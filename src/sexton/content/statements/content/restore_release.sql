-- Plan a cancelled release again, with the items that it had then.
with release as (
    select id, cancelled_at from sexton.content_releases where id = :release_id and namespace = :namespace
),
items as (
    update sexton.content_schedules as item
    set cancelled_at = null, cancelled_by = null
    from release
    where item.release_id = release.id and item.namespace = :namespace and item.cancelled_at = release.cancelled_at
        and item.result is null
)
update sexton.content_releases
set cancelled_at = null, cancelled_by = null, revision = revision + 1
where id = :release_id and namespace = :namespace
