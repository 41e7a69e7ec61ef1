-- As list, for one job of a namespace: changes of it alone, and changes of many jobs that included it.
select
    -- include: audit_view
    , entry.place, (
    -- include: audit_filter
    ) as matches
from (
    select found.*, row_number() over (order by found.at desc, found.id desc) as place
    from (
        select *
        from sexton.audit_entries
        where namespace = :namespace
          and (job_id = :job_id or jobs @> :job_id::bigint)
          and (at, id) < (coalesce(:at::timestamptz, 'infinity'), coalesce(:id::bigint, 0))
          and at >= coalesce(:since::timestamptz, '-infinity')
        order by at desc, id desc
        limit :look
    ) as found
) as entry
where entry.place = :look or (
    -- include: audit_filter
    )
order by entry.at desc, entry.id desc
limit :limit
