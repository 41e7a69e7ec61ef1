-- Runs that nobody has claimed yet follow the edit: their revision is fixed by the first claim, also by one that is under
-- way (so the condition is on the row that is updated, which is looked at again after a wait). Their keys are not the
-- edit's to change: $4 runs, $5 the keys they were fired with. $1 job, $2 revision, $3 lane,
-- $6 concurrency key, $7 runs with a key of their own, $8 those keys
with buried as (
    update sexton.dead set lane = $3 where job_id = $1 and lane <> $3
),
-- include: patience
held as materialized (
    select run.id
    from patience
    cross join sexton.runs as run
    where run.job_id = $1 and run.claim = 0
    order by run.slot is not distinct from 1, run.id
    for update of run
)
update sexton.runs as run
set revision = $2, lane = $3,
    concurrency_key = coalesce(
        (select own.key from unnest($7::bigint[], $8::text[]) as own (id, key) where own.id = run.id), $6
    ),
    idempotency_key = coalesce(
        run.idempotency_key,
        (select fired.key from unnest($4::bigint[], $5::text[]) as fired (id, key) where fired.id = run.id)
    )
where run.id = any (array(select held.id from held)) and run.claim = 0
