-- Move timers to other occurrences: :job_ids, and for each :scheduled, :due (null if the job is paused) and :fired_counts. Their
-- revisions grow by :edits. The scheduler is notified of timers that are due within `horizon_seconds`: of one job, or of the shards of several.
with placed as (
    update sexton.timers as timer
    set scheduled_at = place.scheduled_at, due_at = coalesce(place.due_at, 'infinity'), fired_count = place.fired_count,
        revision = timer.revision + :edits::integer
    from unnest(:job_ids::bigint[], :scheduled::timestamptz[], :due::timestamptz[], :fired_counts::integer[])
         as place (job_id, scheduled_at, due_at, fired_count)
    where timer.job_id = place.job_id
    returning timer.job_id, timer.shard, timer.due_at
)
-- include: timers_told
