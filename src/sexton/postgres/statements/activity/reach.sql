-- How much was recorded from an instant on and before another, by minute, the latest first: of all namespaces, since history is not apart by them;
-- and how many runs of one of them started late.
select minute, sum(runs)::bigint as runs,
    coalesce(sum(runs) filter (where namespace = :namespace and late >= :late_step::int), 0)::bigint as late
from sexton.activity
where minute >= :first and minute < :last
group by minute
order by minute desc
