-- Reserve the next free times for :runs missed runs: when the first one may start, and the seconds between two. All nodes
-- reserve here, so the rate (the setting catch_up_rate) applies to the whole cluster.
select sexton.reserve_catch_up(:runs::integer, pace.rate, coalesce(:now::timestamptz, clock_timestamp())) as first_at,
       1 / pace.rate as seconds
from (
    select coalesce((select (value #>> '{}')::float8 from sexton.settings where name = 'catch_up_rate'), 100) as rate
) as pace
