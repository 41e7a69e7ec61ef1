-- Make new runs for past occurrences, behind all other runs, each under the key of its occurrence. Overlap does not
-- apply to them, and they do not expire. :scheduled_at, :keys and :available_at belong together; a null key is the
-- default one.
with made as (
    insert into sexton.runs (
        job_id, lane, priority, available_at, scheduled_at, due_at, revision, trigger, missed, idempotency_key,
        concurrency_key
    )
    select :job_id, :lane, 3, available_at, scheduled_at, scheduled_at + :jitter_seconds::float8 * interval '1 second', :revision, 'backfill', true, key,
           :concurrency_key
    from unnest(:scheduled_at::timestamptz[], :keys::text[], :available_at::timestamptz[]) as wanted (scheduled_at, key, available_at)
    order by scheduled_at
    returning id, scheduled_at
),
told as (
    select pg_notify('sexton_runs', :lane::integer::text) from made having count(*) > 0
)
select id, (select count(*) from told) from made order by scheduled_at
