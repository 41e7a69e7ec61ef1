-- Runs on request, one of each job; those with slot 1 wait. The caller has locked the jobs. :run_ids, and for each :job_ids, :lanes,
-- :priorities, :available_at, :expires_seconds, :revisions, :slots, :keys, :concurrency_keys, :payloads;
-- a payload is null if the run has that of its job.
with made as (
    insert into sexton.runs (
        id, job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, slot,
        idempotency_key, payload, concurrency_key
    )
    select r.id, r.job_id, r.lane, r.priority, case when r.slot = 1 then 'infinity' else r.available_at end, :now, :now,
           :now::timestamptz + r.expires_seconds * interval '1 second', r.revision, 'manual', r.slot, r.key, r.payload::jsonb,
           r.concurrency_key
    from unnest(:run_ids::bigint[], :job_ids::bigint[], :lanes::integer[], :priorities::smallint[], :available_at::timestamptz[],
                :expires_seconds::integer[], :revisions::integer[], :slots::smallint[], :keys::text[], :concurrency_keys::text[], :payloads::text[])
         as r (id, job_id, lane, priority, available_at, expires_seconds, revision, slot, key, concurrency_key, payload)
    returning lane
)
select pg_notify('sexton_runs', min(lane)::text) from made
