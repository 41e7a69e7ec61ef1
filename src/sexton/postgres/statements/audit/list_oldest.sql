-- As list, the oldest first, after a place (null: from the oldest on).
select
    -- include: audit_view
    , entry.place, chosen.matches
from (
    select found.*, row_number() over (order by found.at, found.id) as place
    from (
        select *
        from sexton.audit_entries
        where (:namespace::text is null or namespace = :namespace)
          and (:job_id::bigint is null or job_id = :job_id or jobs @> :job_id)
          and (at, id) > (coalesce(:at::timestamptz, '-infinity'), coalesce(:id::bigint, 0))
          and at < coalesce(:until::timestamptz, 'infinity')
        order by at, id
        limit :look
    ) as found
) as entry
cross join lateral (
    select
    -- include: audit_filter
    as matches
) as chosen
where entry.place = :look or chosen.matches
order by entry.at, entry.id
limit :limit
