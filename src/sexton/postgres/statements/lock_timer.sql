-- A job's timer, if it has one, held until the transaction ends: from here on the job does not fire. The time is read once
-- the locks are held: beside FOR UPDATE it would be that before the wait (tried).
-- $1 job, $2 now, or null for the database clock
with locked as materialized (
    select * from sexton.timers where job_id = $1 for update
)
select locked.*, coalesce($2::timestamptz, clock_timestamp()) as now,
       (select value::int from sexton.settings where name = 'shards') as shards
from (values (1)) as always
left join locked on true
