-- A run on request; it waits if it has slot 1. The caller has locked the job.
with made as (
    insert into sexton.runs (
        id, job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, slot,
        idempotency_key, payload, concurrency_key
    )
    values (
        :run_id, :job_id, :lane, :priority, case when :slot::smallint = 1 then 'infinity' else :now::timestamptz end, :now, :now,
        :now::timestamptz + :expires_seconds::integer * interval '1 second', :revision, 'manual', :slot, :key, :payload, :concurrency_key
    )
    returning lane
)
select pg_notify('sexton_runs', lane::text) from made
