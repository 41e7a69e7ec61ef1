-- Lock the rows of jobs until the transaction ends, in the order of their ids: the first lock of every change (jobs, then timers,
-- then runs). Until then the number of shards does not change either.
select job.*, pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept
from sexton.jobs as job
where job.id = any(:job_ids::bigint[])
order by job.id
for update of job
