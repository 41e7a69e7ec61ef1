-- Runs that ended and occurrences that were skipped in a namespace between two instants, by status: the stored counts, and what was recorded
-- after them. With :late_step, only runs of a schedule that started at least so late; null: all.
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
