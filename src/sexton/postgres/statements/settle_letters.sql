-- What became of letters that were taken: $1 runs, $2 which delivery it was, $3 errors (null: delivered), $4 seconds until
-- the next try, $5 now. One that somebody else has taken since is theirs to settle.
update sexton.dead as dead
set delivered_at = case when done.error is null then moment.now else dead.delivered_at end,
    next_delivery_at = case when done.error is not null then moment.now + make_interval(secs => done.wait) end,
    delivery_error = done.error
from unnest($1::bigint[], $2::integer[], $3::text[], $4::float8[]) as done (run_id, deliveries, error, wait),
    (select coalesce($5::timestamptz, clock_timestamp()) as now) as moment
where dead.run_id = done.run_id and dead.deliveries = done.deliveries
returning dead.run_id
