-- Where a job goes on, made again if it had ended. The scheduler is told if that is soon.
-- $1 job, $2 shard, $3 revision, $4 timing key, $5 scheduled, $6 due (null: never, it is paused), $7 fired count, $8 max runs, $9 lane, $10 priority,
-- $11 overlap, $12 expires, $13 grace (null: 60), $14 the horizon of the wheel in seconds, $15 now, $16 concurrency key.
with placed as (
    insert into sexton.timers (
        job_id, shard, revision, timing_key, scheduled_at, due_at, fired_count, max_runs, lane, priority, overlap,
        expires_seconds, grace_seconds, concurrency_key
    )
    values ($1, $2, $3, $4, $5, coalesce($6::timestamptz, 'infinity'), $7, $8, $9, $10, $11, $12, $13, $16)
    on conflict (job_id) do update
    set revision = excluded.revision, timing_key = excluded.timing_key, scheduled_at = excluded.scheduled_at,
        due_at = excluded.due_at, fired_count = excluded.fired_count, max_runs = excluded.max_runs,
        lane = excluded.lane, priority = excluded.priority, overlap = excluded.overlap,
        expires_seconds = excluded.expires_seconds, grace_seconds = excluded.grace_seconds,
        concurrency_key = excluded.concurrency_key
    returning job_id
)
select case when $6::timestamptz <= $15::timestamptz + $14::float8 * interval '1 second'
            then pg_notify('sexton_timers', $2::smallint || ':' || job_id) end is null as later
from placed
