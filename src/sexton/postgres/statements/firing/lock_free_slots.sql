-- The jobs among these that have no locked live or queued run. Their runs are locked until the end of the transaction.
with slotted as materialized (
    select run.id, run.job_id from sexton.runs as run where run.job_id = any (:jobs::bigint[]) and run.slot in (0, 1)
),
locked as materialized (
    select run.id from sexton.runs as run where run.id = any (array(select id from slotted)) for update skip locked
)
select wanted.id
from unnest(:jobs::bigint[]) as wanted (id)
where not exists (
    select from slotted where slotted.job_id = wanted.id and slotted.id not in (select locked.id from locked)
)
