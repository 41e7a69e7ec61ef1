-- What became of letters that were sent. The arrays belong together: :deliveries tells which delivery it was, :errors is null
-- for one that arrived, :sent is false for one that has no target and only its own kind had to know, :waits are seconds until the next try. A letter that another worker has leased since is left to it.
update sexton.dead as dead
set delivered_at = case when done.error is null and done.sent then moment.now else dead.delivered_at end,
    next_delivery_at = case when done.error is not null then moment.now + make_interval(secs => done.wait) end,
    delivery_error = done.error
from unnest(:runs::bigint[], :deliveries::integer[], :errors::text[], :sent::boolean[], :waits::float8[])
        as done (run_id, deliveries, error, sent, wait),
    (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
where dead.run_id = done.run_id and dead.deliveries = done.deliveries
returning dead.run_id
