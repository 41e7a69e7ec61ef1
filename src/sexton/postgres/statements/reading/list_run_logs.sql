-- The log of a run, in order; with :after, only later lines. More than :limit lines if the last ones are of one instant: the next
-- lines are those after it. The caller has looked the run up.
select line.at, line.attempt, line.level, line.message
from (
    select at, recorded_at, attempt, level, message
    from sexton.run_logs
    where run_id = :run_id and (:after::timestamptz is null or at > :after)
    order by at
    fetch first (:limit) rows with ties
) as line
order by line.at, line.recorded_at
