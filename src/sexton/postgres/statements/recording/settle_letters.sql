-- Record the results of sent letters. The arrays belong together: :deliveries is the number of the delivery; :errors is
-- null for a letter that arrived; :sent is false for a letter without a target, of which only the run's kind was
-- informed; :waits are seconds until the next try. A letter that another worker has leased since is left alone.
update sexton.dead as dead
set delivered_at = case when done.error is null and done.sent then moment.now else dead.delivered_at end,
    next_delivery_at = case when done.error is not null then moment.now + make_interval(secs => done.wait) end,
    delivery_error = done.error
from unnest(:runs::bigint[], :deliveries::integer[], :errors::text[], :sent::boolean[], :waits::float8[])
        as done (run_id, deliveries, error, sent, wait),
    (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
where dead.run_id = done.run_id and dead.deliveries = done.deliveries
returning dead.run_id
