-- Log lines of the runs of node $1. One that was lost to another claim writes nothing.
insert into sexton.run_logs (recorded_at, run_id, attempt, at, level, message)
select coalesce($7::timestamptz, clock_timestamp()), run.id, run.attempt, to_timestamp(line.at), line.level, line.message
from unnest($2::bigint[], $3::integer[], $4::float8[], $5::text[], $6::text[]) as line (id, claim, at, level, message)
join sexton.runs as run on run.id = line.id and run.claim = line.claim and run.node = $1
