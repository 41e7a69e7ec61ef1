-- How many runs ended and occurrences were skipped in a namespace, by hour.
select date_trunc('hour', minute) as hour, sum(runs)::bigint as count,
    coalesce(sum(runs) filter (where status in ('dead', 'expired')), 0)::bigint as failed
from sexton.activity
where namespace = :namespace and minute >= :start and minute < :end
group by 1
