-- Runs that nobody has claimed yet follow the edit: their revision is fixed by the first claim. Their keys are not theirs
-- to change: $4 runs, $5 the keys they were fired with. $1 job, $2 revision, $3 lane
with dead as (
    update sexton.dead set lane = $3 where job_id = $1 and lane <> $3
)
update sexton.runs as run
set revision = $2, lane = $3, idempotency_key = coalesce(run.idempotency_key, fired.key)
from sexton.runs as same
left join unnest($4::bigint[], $5::text[]) as fired (id, key) on fired.id = same.id
where run.id = same.id and same.job_id = $1 and same.claim = 0
