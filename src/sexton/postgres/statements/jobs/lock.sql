-- Lock a job's row until the transaction ends: the first lock of every change (jobs, then timers, then runs). The number of
-- shards cannot change meanwhile either.
select job.*, pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept
from sexton.jobs as job
where job.id = :job_id
for update of job
