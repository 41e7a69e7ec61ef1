-- Delete jobs: their names become free, they no longer fire, their history stays. :job_ids, and what is needed to restore each: how many runs
-- have fired by now (:fired_counts), and the first open occurrence (:next_at). With :final, only the release, window or message that
-- cancelled them restores them.
with ended as (delete from sexton.timers where job_id = any(:job_ids::bigint[]))
update sexton.jobs as job
set status = 'deleted', deleted_at = :now, updated_at = :now, paused_reason = null, paused_until = null,
    deleted_as = jsonb_build_object(
        'status', job.status, 'paused_reason', job.paused_reason, 'paused_until', job.paused_until,
        'fired_count', gone.fired_count, 'next_at', gone.next_at, 'final', :final::boolean
    )
from unnest(:job_ids::bigint[], :fired_counts::integer[], :next_at::timestamptz[]) as gone (id, fired_count, next_at)
where job.id = gone.id
