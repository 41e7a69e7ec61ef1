-- Past occurrences once more, behind everything else, each under the key of its occurrence. They take no part in overlap,
-- and do not expire. $1 job, $2 lane, $3 revision, $4 scheduled, $5 keys (null: the default), $6 jitter in seconds,
-- $7 available, $8 concurrency key
with made as (
    insert into sexton.runs (
        job_id, lane, priority, available_at, scheduled_at, due_at, revision, trigger, missed, idempotency_key,
        concurrency_key
    )
    select $1, $2, 3, available_at, scheduled_at, scheduled_at + $6::float8 * interval '1 second', $3, 'backfill', true, key,
           $8
    from unnest($4::timestamptz[], $5::text[], $7::timestamptz[]) as wanted (scheduled_at, key, available_at)
    order by scheduled_at
    returning id, scheduled_at
),
told as (
    select pg_notify('sexton_runs', $2::integer::text) from made having count(*) > 0
)
select id, (select count(*) from told) from made order by scheduled_at
