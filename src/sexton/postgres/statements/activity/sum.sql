-- What ended and was skipped in a namespace between two instants, by status: what was counted, and what was recorded after that. :late_step is how
-- late runs of a schedule have started at least; null: all are meant.
with mark as materialized (
    select coalesce((select greatest(through, :since::timestamptz) from sexton.activity_mark), :since) as through
)
select found.status, sum(found.runs)::bigint as runs
from (
    select status, runs
    from sexton.activity
    where namespace = :namespace and minute >= :since and minute < :until and (:late_step::int is null or late >= :late_step)
    union all
    select h.status, coalesce(h.occurrences, 1)
    from sexton.history as h
    join sexton.jobs as job on job.id = h.job_id
-- include: late_step
    where h.recorded_at >= (select through from mark) and h.recorded_at < :until and job.namespace = :namespace
        and (:late_step is null or late.step >= :late_step)
) as found
group by found.status
