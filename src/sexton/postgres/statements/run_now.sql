-- A run that somebody asked for; it waits if it has slot 1. The job is locked by the caller.
-- $1 run, $2 job, $3 lane, $4 priority, $5 now, $6 expires, $7 revision, $8 slot, $9 key, $10 payload, $11 concurrency key
with made as (
    insert into sexton.runs (
        id, job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, slot,
        idempotency_key, payload, concurrency_key
    )
    values (
        $1, $2, $3, $4, case when $8::smallint = 1 then 'infinity' else $5::timestamptz end, $5, $5,
        $5::timestamptz + $6::integer * interval '1 second', $7, 'manual', $8, $9, $10, $11
    )
    returning lane
)
select pg_notify('sexton_runs', lane::text) from made
