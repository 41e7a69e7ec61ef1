-- Entries of a namespace (null: of all, or of those in :namespaces), or of one of its jobs, the latest first, before a place
-- (null: from the latest on). No more than :look are looked at, whatever the filter; the last of so many is returned though it
-- may not match. Planned anew for every call, so that only the filters that are given count, and each finds its index.
select
    -- include: audit_view
    , entry.place, chosen.matches
from (
    select found.*, row_number() over (order by found.at desc, found.id desc) as place
    from (
        select *
        from sexton.audit_entries
        where (:namespace::text is null or namespace = :namespace)
          and (:job_id::bigint is null or job_id = :job_id or jobs @> :job_id)
          and (at, id) < (coalesce(:at::timestamptz, 'infinity'), coalesce(:id::bigint, 0))
          and at >= coalesce(:since::timestamptz, '-infinity')
        order by at desc, id desc
        limit :look
    ) as found
) as entry
cross join lateral (
    select
    -- include: audit_filter
    as matches
) as chosen
where entry.place = :look or chosen.matches
order by entry.at desc, entry.id desc
limit :limit
