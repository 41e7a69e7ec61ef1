-- Write the timer of a job, or make it again if the job was completed; `due_at` is null if the job is paused. The caller has
-- locked the job, so there is no other timer. The scheduler is notified if it is due within `horizon_seconds`.
with moved as (
    update sexton.timers as timer
    set revision = :revision, timing_key = :timing_key, scheduled_at = :scheduled_at,
        due_at = coalesce(:due_at::timestamptz, 'infinity'), fired_count = :fired_count, max_runs = :max_runs, lane = :lane,
        priority = :priority, overlap = :overlap, expires_seconds = :expires_seconds, grace_seconds = :grace_seconds,
        concurrency_key = :concurrency_key
    where timer.job_id = :job_id
    returning timer.job_id
),
made as (
    insert into sexton.timers (
        job_id, shard, revision, timing_key, scheduled_at, due_at, fired_count, max_runs, lane, priority, overlap,
        expires_seconds, grace_seconds, concurrency_key
    )
    select :job_id, :shard::smallint, :revision, :timing_key, :scheduled_at, coalesce(:due_at::timestamptz, 'infinity'), :fired_count,
        :max_runs, :lane, :priority, :overlap, :expires_seconds, :grace_seconds, :concurrency_key
    where not exists (select from moved)
    returning job_id
),
placed as (
    select job_id from moved
    union all
    select job_id from made
)
select case when :due_at::timestamptz <= :now::timestamptz + :horizon_seconds::float8 * interval '1 second'
            then pg_notify('sexton_timers', :shard::smallint || ':' || job_id) end is null as later
from placed
