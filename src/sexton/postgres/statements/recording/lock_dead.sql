-- Lock dead letters to redrive or discard them, the oldest first. A null filter does not apply. The job of a letter
-- exists as long as the letter.
select dead.run_id, dead.job_id, dead.revision, dead.scheduled_at, dead.idempotency_key, dead.payload, dead.died_at,
       dead.error_group, job.name
from sexton.dead
join sexton.jobs as job on job.id = dead.job_id
where job.namespace = :namespace
  and (:run_id::bigint is null or dead.run_id = :run_id)
  and (:job_id::bigint is null or dead.job_id = :job_id)
  and (:error_group::text is null or dead.error_group = :error_group)
  and (:reason::text is null or dead.reason = :reason)
  and (:died_until::timestamptz is null or dead.died_at <= :died_until)
order by dead.died_at, dead.run_id
limit :limit
for update of dead
