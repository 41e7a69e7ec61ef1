-- Lock the timers of jobs, where they have one, until the transaction ends: until then the jobs do not fire. The time is read
-- after the last lock is granted: beside FOR UPDATE it would be the time before the wait (tried). Returns at least one row, without
-- a job if none has a timer, and with it the quotas of their namespace.
with locked as materialized (
    select * from sexton.timers where job_id = any(:job_ids::bigint[]) order by job_id for update
),
known as materialized (
    select coalesce(:now::timestamptz, clock_timestamp()) as now,
           (select value::int from sexton.settings where name = 'shards') as shards,
           (select (value #>> '{}')::float8 from sexton.settings where name = 'catch_up_seconds') as catch_up_seconds,
           coalesce(space.live_runs is not null or space.firings_per_second is not null, false) as metered, space.payload_bytes
    from (select count(*) from locked) as granted
    left join sexton.namespaces as space on space.name = :namespace
)
select locked.*, known.*
from known
left join locked on true
