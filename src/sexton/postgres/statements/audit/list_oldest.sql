-- As list, the oldest first, after a place (null: from the oldest on).
select
    -- include: audit_view
    , entry.place, (
    -- include: audit_filter
    ) as matches
from (
    select found.*, row_number() over (order by found.at, found.id) as place
    from (
        select *
        from sexton.audit_entries
        where namespace = :namespace
          and (at, id) > (coalesce(:at::timestamptz, '-infinity'), coalesce(:id::bigint, 0))
          and at < coalesce(:until::timestamptz, 'infinity')
        order by at, id
        limit :look
    ) as found
) as entry
where entry.place = :look or (
    -- include: audit_filter
    )
order by entry.at, entry.id
limit :limit
