-- What became of past times of series, in a range after a place, with live runs; of a time that was run again, its latest run: not the one with
-- the greatest number, as each connection reserves its own. Nothing is recorded before it is due, so the index of (job, recorded_at)
-- bounds the search from below.
select distinct on (past.scheduled_at, plan.id) plan.id, past.*
from unnest(:ids::bigint[], :job_ids::bigint[]) as plan (id, job_id)
join lateral (
    select ended.scheduled_at, ended.status, ended.run_id, ended.error, ended.reason, ended.occurrences, ended.recorded_at
    from sexton.history as ended
    where ended.job_id = plan.job_id and ended.recorded_at >= :start::timestamptz - interval '1 minute'
    union all
    select run.scheduled_at, 'live', run.id, run.error, null, null, 'infinity'
    from sexton.runs as run
    where run.job_id = plan.job_id
) as past on past.scheduled_at >= :start and past.scheduled_at < :end
where (past.scheduled_at, plan.id) > (:after_at::timestamptz, :after_id::bigint)
order by past.scheduled_at, plan.id, past.recorded_at desc, past.run_id desc nulls last
limit :limit
