-- Lock a job's timer, if it has one, until the transaction ends: the job does not fire meanwhile. The time is read after the
-- lock is granted: beside FOR UPDATE it would be that before the wait (tried).
with locked as materialized (
    select * from sexton.timers where job_id = :job_id for update
)
select locked.*, coalesce(:now::timestamptz, clock_timestamp()) as now,
       (select value::int from sexton.settings where name = 'shards') as shards,
       (select (value #>> '{}')::float8 from sexton.settings where name = 'catch_up_seconds') as catch_up_seconds
from (values (1)) as always
left join locked on true
