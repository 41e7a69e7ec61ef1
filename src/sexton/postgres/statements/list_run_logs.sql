-- The log of a run, in order: $1 run, $2 only lines after this instant or null, $3 how many.
select at, attempt, level, message
from sexton.run_logs
where run_id = $1 and ($2::timestamptz is null or at > $2)
order by at, recorded_at
limit $3
