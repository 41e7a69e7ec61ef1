-- Write log lines of the runs of a node. A run that was lost to another claim writes nothing.
insert into sexton.run_logs (recorded_at, run_id, attempt, at, level, message)
select coalesce(:now::timestamptz, clock_timestamp()), run.id, run.attempt, to_timestamp(line.at), line.level, line.message
from unnest(:runs::bigint[], :claims::integer[], :times::float8[], :levels::text[], :messages::text[])
    as line (id, claim, at, level, message)
join sexton.runs as run on run.id = line.id and run.claim = line.claim and run.node = :node
