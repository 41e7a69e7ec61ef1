-- The latest runs and skipped occurrences of some jobs, recorded since an instant, up to :most of each.
select wanted.id, h.run_id, h.status, h.recorded_at, h.scheduled_at, h.started_at, h.finished_at, h.trigger
from unnest(:job_ids::bigint[]) as wanted (id)
cross join lateral (
    select ended.run_id, ended.status, ended.recorded_at, ended.scheduled_at, ended.started_at, ended.finished_at, ended.trigger
    from sexton.history as ended
    where ended.job_id = wanted.id and ended.recorded_at >= :since
    order by ended.recorded_at desc
    limit :most
) as h
