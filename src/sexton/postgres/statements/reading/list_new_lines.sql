-- Log lines of watched runs that were recorded after :since, in order; of each run the first :each.
select line.run_id, line.at, line.attempt, line.level, line.message
from unnest(:run_ids::bigint[]) as watched (id)
cross join lateral (
    select line.run_id, line.at, line.recorded_at, line.attempt, line.level, line.message
    from sexton.run_logs as line
    where line.run_id = watched.id and line.recorded_at > :since
    order by line.at, line.recorded_at
    limit :each
) as line
order by line.at, line.recorded_at
