-- How many rows were recorded between two instants, by minute, the latest first; and how many runs of one namespace started late.
-- The rows are those of all namespaces, because history has no index by namespace.
select minute, sum(runs)::bigint as runs,
    coalesce(sum(runs) filter (where namespace = :namespace and late >= :late_step::int), 0)::bigint as late
from sexton.activity
where minute >= :first and minute < :last
group by minute
order by minute desc
