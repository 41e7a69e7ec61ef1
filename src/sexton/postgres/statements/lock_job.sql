-- A job's row, held until the transaction ends: the first lock of every change (jobs, then timers, then runs). The number
-- of shards is kept from changing, too. $1 job
select job.*, pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept
from sexton.jobs as job
where job.id = $1
for update of job
