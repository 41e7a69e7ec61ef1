-- The releases that match the filters of a list, with the number of their items, as `found`.
with found as (
    select id, scheduled_at,
           (select count(*) from sexton.content_schedules as item where item.release_id = release.id) as items
    from sexton.content_releases as release
    where namespace = :namespace
        and (:created_by::text is null or created_by = :created_by)
        and (:start::timestamptz is null or scheduled_at >= :start)
        and (:end::timestamptz is null or scheduled_at <= :end)
        and (:pattern::text is null or note ilike :pattern)
)
