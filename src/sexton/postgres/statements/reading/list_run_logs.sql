-- The log of a run, in order; with :after, only later lines. The caller has looked the run up.
select at, attempt, level, message
from sexton.run_logs
where run_id = :run_id and (:after::timestamptz is null or at > :after)
order by at, recorded_at
limit :limit
