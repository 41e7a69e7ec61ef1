-- Lock the runs that no worker has claimed, until the transaction ends.
select id, scheduled_at, payload
from sexton.runs
where job_id = :job_id and claim = 0 and idempotency_key is null
order by coalesce(slot, 0) <> 0, id
for update
