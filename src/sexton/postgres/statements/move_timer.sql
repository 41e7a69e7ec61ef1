-- Put a timer to another occurrence: $2 scheduled, $3 due (null: never, it is paused), $4 fired count. The scheduler is
-- told if that is soon. $1 job, $5 the horizon of the wheel in seconds, $6 now
with moved as (
    update sexton.timers
    set scheduled_at = $2, due_at = coalesce($3::timestamptz, 'infinity'), fired_count = $4
    where job_id = $1
    returning shard
)
select case when $3::timestamptz <= $6::timestamptz + $5::float8 * interval '1 second'
            then pg_notify('sexton_timers', shard || ':' || $1::bigint) end is null as later
from moved
