-- Runs that ended and occurrences that were skipped in a namespace from :since on, by minute: the stored counts, and what was recorded after them.
with mark as materialized (
    select coalesce((select greatest(through, :since::timestamptz) from sexton.activity_mark), :since) as through
)
select minute, status, late, runs
from sexton.activity
where namespace = :namespace and minute >= :since and minute < :until
union all
select date_trunc('minute', h.recorded_at), h.status, late.step, sum(coalesce(h.occurrences, 1))::bigint
from sexton.history as h
join sexton.jobs as job on job.id = h.job_id
-- include: late_step
where h.recorded_at >= (select through from mark) and h.recorded_at < :until and job.namespace = :namespace
group by 1, 2, 3
