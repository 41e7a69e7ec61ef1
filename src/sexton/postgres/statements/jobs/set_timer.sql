-- Write a job's timer, or make it again if the job was completed; `due_at` is null if the job is paused. The scheduler is
-- told if it is due within `horizon_seconds`.
with placed as (
    insert into sexton.timers (
        job_id, shard, revision, timing_key, scheduled_at, due_at, fired_count, max_runs, lane, priority, overlap,
        expires_seconds, grace_seconds, concurrency_key
    )
    values (
        :job_id, :shard, :revision, :timing_key, :scheduled_at, coalesce(:due_at::timestamptz, 'infinity'), :fired_count,
        :max_runs, :lane, :priority, :overlap, :expires_seconds, :grace_seconds, :concurrency_key
    )
    on conflict (job_id) do update
    set revision = excluded.revision, timing_key = excluded.timing_key, scheduled_at = excluded.scheduled_at,
        due_at = excluded.due_at, fired_count = excluded.fired_count, max_runs = excluded.max_runs,
        lane = excluded.lane, priority = excluded.priority, overlap = excluded.overlap,
        expires_seconds = excluded.expires_seconds, grace_seconds = excluded.grace_seconds,
        concurrency_key = excluded.concurrency_key
    returning job_id
)
select case when :due_at::timestamptz <= :now::timestamptz + :horizon_seconds::float8 * interval '1 second'
            then pg_notify('sexton_timers', :shard::smallint || ':' || job_id) end is null as later
from placed
