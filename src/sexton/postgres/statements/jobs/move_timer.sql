-- Move a timer to another occurrence; `due_at` is null if the job is paused. The scheduler is told if it is due within
-- `horizon_seconds`.
with moved as (
    update sexton.timers
    set scheduled_at = :scheduled_at, due_at = coalesce(:due_at::timestamptz, 'infinity'), fired_count = :fired_count
    where job_id = :job_id
    returning shard
)
select case when :due_at::timestamptz <= :now::timestamptz + :horizon_seconds::float8 * interval '1 second'
            then pg_notify('sexton_timers', shard || ':' || :job_id::bigint) end is null as later
from moved
