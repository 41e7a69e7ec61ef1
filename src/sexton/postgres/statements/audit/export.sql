-- Entries of all namespaces, or of those in :namespaces, in the order of the chain, after a place in it. No more than 2,000 are
-- read; the last of them is returned even if it does not match.
select
    -- include: audit_view
    , entry.place, (
    -- include: audit_filter
    and (:job_id::bigint is null or entry.job_id = :job_id or entry.jobs @> :job_id::bigint)
    and entry.at >= coalesce(:since::timestamptz, '-infinity')
    and entry.at < coalesce(:until::timestamptz, 'infinity')
    ) as matches
from (
    select found.*, row_number() over (order by found.sequence) as place
    from (select * from sexton.audit where sequence > :after order by sequence limit 2000) as found
) as entry
order by entry.sequence
