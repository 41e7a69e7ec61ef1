-- Notify the scheduler of timers that are due within :horizon_seconds: of one job, or of the shards of several. Expects `placed` with their
-- job_id, shard and due_at.
select pg_notify(
    'sexton_timers',
    case when count(*) = 1 then min(shard || ':' || job_id) else string_agg(distinct shard::text, ',') end
)
from placed
where due_at <= :now::timestamptz + :horizon_seconds::float8 * interval '1 second'
having count(*) > 0
