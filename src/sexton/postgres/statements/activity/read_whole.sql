-- The same between two instants, all minutes together.
with mark as materialized (
    select coalesce((select greatest(through, :since::timestamptz) from sexton.activity_mark), :since) as through
)
select found.status, found.late, sum(found.runs)::bigint as runs
from (
    select status, late, runs
    from sexton.activity
    where namespace = :namespace and minute >= :since and minute < :until
    union all
    select h.status, late.step, coalesce(h.occurrences, 1)
    from sexton.history as h
    join sexton.jobs as job on job.id = h.job_id
-- include: late_step
    where h.recorded_at >= (select through from mark) and h.recorded_at < :until and job.namespace = :namespace
) as found
group by 1, 2
