-- Lock the next jobs of a filter, `after` an id and up to another (`through`; null: to the last), like jobs/lock. One that
-- is changed while its lock is waited for is looked at again.
select jobs.*, pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept
from sexton.jobs
where id > :after and id <= coalesce(:through::bigint, 9223372036854775807)
-- include: job_filter
order by id
limit :limit
for update of jobs
