-- As list, for all namespaces, or for those in :namespaces.
select
    -- include: audit_view
    , entry.place, (
    -- include: audit_filter
    and (:namespaces::text[] is null or entry.namespace = any (:namespaces))
    ) as matches
from (
    select found.*, row_number() over (order by found.at desc, found.id desc) as place
    from (
        select *
        from sexton.audit_entries
        where (at, id) < (coalesce(:at::timestamptz, 'infinity'), coalesce(:id::bigint, 0))
          and at >= coalesce(:since::timestamptz, '-infinity')
        order by at desc, id desc
        limit :look
    ) as found
) as entry
where entry.place = :look or (
    -- include: audit_filter
    and (:namespaces is null or entry.namespace = any (:namespaces))
    )
order by entry.at desc, entry.id desc
limit :limit
