-- Restore deleted jobs: :job_ids, and for each its :statuses. The names must be free. Jobs with an open occurrence,
-- :timer_jobs, get their timers again, in the columns of `timers`; :due is null if the job is paused. The scheduler is notified of jobs that
-- are due within `horizon_seconds`.
with back as (
    update sexton.jobs as job
    set status = kept.status, deleted_at = null, deleted_as = null, updated_at = :now,
        paused_reason = case when kept.status = 'paused' then job.deleted_as ->> 'paused_reason' end,
        paused_until = case when kept.status = 'paused' then (job.deleted_as ->> 'paused_until')::timestamptz end,
        completed_at = case when kept.status = 'completed' then coalesce(job.completed_at, :now) end
    from unnest(:job_ids::bigint[], :statuses::text[]) as kept (id, status)
    where job.id = kept.id
    returning job.id, job.revision
),
placed as (
    insert into sexton.timers (
        job_id, shard, revision, timing_key, scheduled_at, due_at, fired_count, max_runs, lane, priority, overlap,
        expires_seconds, grace_seconds, concurrency_key
    )
    select place.job_id, sexton.shard_of(place.job_id, :shards::integer), back.revision, place.timing_key, place.scheduled_at,
           coalesce(place.due_at, 'infinity'), place.fired_count, place.max_runs, place.lane, place.priority, place.overlap,
           place.expires_seconds, place.grace_seconds, place.concurrency_key
    from unnest(
        :timer_jobs::bigint[], :timing_keys::uuid[], :scheduled::timestamptz[], :due::timestamptz[], :fired_counts::integer[],
        :max_runs::integer[], :lanes::integer[], :priorities::smallint[], :overlaps::smallint[], :expires_seconds::integer[],
        :grace_seconds::integer[], :concurrency_keys::text[]
    ) as place (job_id, timing_key, scheduled_at, due_at, fired_count, max_runs, lane, priority, overlap, expires_seconds,
                grace_seconds, concurrency_key)
    join back on back.id = place.job_id
    returning job_id, shard, due_at
)
-- include: timers_told
