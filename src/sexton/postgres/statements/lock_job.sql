-- A job's row, held until the transaction ends: the first lock of every change (jobs, then timers, then runs).
-- The time is read after the wait for the lock. $1 job, $2 now, or null for the database clock.
select job.*, coalesce($2::timestamptz, clock_timestamp()) as now,
       (select value::int from sexton.settings where name = 'shards') as shards
from sexton.jobs as job
where job.id = $1
for update of job
