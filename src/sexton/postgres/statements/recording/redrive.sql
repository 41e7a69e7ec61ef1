-- Dead letters become runs again, under the keys of their occurrences and with the current revision of the job; they do
-- not expire. The parameters belong together, one element per letter. :payload is null, or replaces their payloads.
with taken as (
    delete from sexton.dead using unnest(:runs::bigint[], :keys::text[], :available_at::timestamptz[], :concurrency_keys::text[])
        as wanted (run_id, key, available_at, concurrency_key)
    where dead.run_id = wanted.run_id
    returning dead.*, wanted.key, wanted.available_at, wanted.concurrency_key
),
made as (
    insert into sexton.runs (
        job_id, lane, priority, available_at, scheduled_at, due_at, revision, trigger, missed, idempotency_key, parent_run,
        payload, concurrency_key, company
    )
    select taken.job_id, taken.lane, taken.priority, taken.available_at, taken.scheduled_at, taken.due_at, job.revision,
           'redrive', taken.missed, taken.key, taken.run_id, coalesce(:payload::jsonb, taken.payload),
           -- An edit while the run was live may have left it in a lane of the other kind: with concurrency keys, or without.
           case when lane.keyed then coalesce(taken.concurrency_key, taken.job_id::text) end,
           -- A run that has ended its process may do so again.
           case when taken.reason = 'poison' then 1 else 0 end
    from taken
    join sexton.lanes as lane on lane.id = taken.lane
    join sexton.jobs as job on job.id = taken.job_id
    returning id, parent_run
),
told as (
    select pg_notify('sexton_runs', '') from made having count(*) > 0
)
select id, parent_run, (select count(*) from told) from made
