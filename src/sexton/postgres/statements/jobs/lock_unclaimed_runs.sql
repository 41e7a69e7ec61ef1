-- Lock the runs that no worker has claimed, until the transaction ends.
select id, scheduled_at, payload
from sexton.runs
where job_id = :job_id and claim = 0 and idempotency_key is null
order by slot is not distinct from 1, id
for update
