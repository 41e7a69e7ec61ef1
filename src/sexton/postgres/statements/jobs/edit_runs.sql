-- Runs that no worker has claimed follow the edit. The first claim fixes the revision of a run, also a claim that is under
-- way: so the condition is on the row that is updated, which PostgreSQL checks again after a wait. An edit does not change their
-- idempotency keys: `fired_ids` are runs and `fired_keys` the keys that they were fired with. `own_ids` are the runs with a
-- concurrency key of their own, and `own_keys` those keys.
with buried as (
    update sexton.dead set lane = :lane where job_id = :job_id and lane <> :lane
),
-- include: patience
held as materialized (
    select run.id
    from patience
    cross join sexton.runs as run
    where run.job_id = :job_id and run.claim = 0
    order by coalesce(run.slot, 0) <> 0, run.id
    for update of run
)
update sexton.runs as run
set revision = :revision, lane = :lane,
    concurrency_key = coalesce(
        (select own.key from unnest(:own_ids::bigint[], :own_keys::text[]) as own (id, key) where own.id = run.id),
        :concurrency_key
    ),
    idempotency_key = coalesce(
        run.idempotency_key,
        (select fired.key from unnest(:fired_ids::bigint[], :fired_keys::text[]) as fired (id, key) where fired.id = run.id)
    )
where run.id = any (array(select held.id from held)) and run.claim = 0
