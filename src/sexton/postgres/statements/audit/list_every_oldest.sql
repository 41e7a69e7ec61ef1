-- As list_every, the oldest first.
select
    -- include: audit_view
    , entry.place, (
    -- include: audit_filter
    and (:namespaces::text[] is null or entry.namespace = any (:namespaces))
    ) as matches
from (
    select found.*, row_number() over (order by found.at, found.id) as place
    from (
        select *
        from sexton.audit_entries
        where (at, id) > (coalesce(:at::timestamptz, '-infinity'), coalesce(:id::bigint, 0))
          and at < coalesce(:until::timestamptz, 'infinity')
        order by at, id
        limit :look
    ) as found
) as entry
where entry.place = :look or (
    -- include: audit_filter
    and (:namespaces is null or entry.namespace = any (:namespaces))
    )
order by entry.at, entry.id
limit :limit
