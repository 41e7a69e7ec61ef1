-- What watched runs have logged and was recorded after :since, in order.
select line.run_id, line.at, line.attempt, line.level, line.message
from sexton.run_logs as line
where line.run_id = any (:run_ids::bigint[]) and line.recorded_at > :since
order by line.at, line.recorded_at
limit :most
