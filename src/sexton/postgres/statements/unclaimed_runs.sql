-- Runs that nobody has claimed yet, held until the transaction ends. $1 job
select id, scheduled_at, payload
from sexton.runs
where job_id = $1 and claim = 0 and idempotency_key is null
order by slot is not distinct from 1, id
for update
