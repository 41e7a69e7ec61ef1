-- Lock the next jobs of a filter, `after` an id and up to another (`through`; null: to the last), like jobs/lock. A job
-- that changes while this statement waits for its lock is checked again.
select jobs.*, pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept
from sexton.jobs
where id > :after and id <= coalesce(:through::bigint, 9223372036854775807)
-- include: job_filter
order by id
limit :limit
for update of jobs
