-- Dead letters to redrive or discard, the oldest first, held until the transaction ends; whose job is gone cannot be
-- run again. Filters, or null: $1 run, $2 job, $3 group of errors, $4 reason, $5 died before; $6 with a job only, $7 limit
select dead.run_id, dead.job_id, dead.revision, dead.scheduled_at, dead.idempotency_key, dead.payload,
       job.id is not null as has_job
from sexton.dead
left join sexton.jobs as job on job.id = dead.job_id
where ($1::bigint is null or dead.run_id = $1)
  and ($2::bigint is null or dead.job_id = $2)
  and ($3::text is null or dead.error_group = $3)
  and ($4::text is null or dead.reason = $4)
  and ($5::timestamptz is null or dead.died_at <= $5)
  and (job.id is not null or not $6::boolean)
order by dead.died_at, dead.run_id
limit $7
for update of dead
