-- Releases with what their jobs say: the timer, the live run, and how it ended.
select release.*, timer.scheduled_at as timer_at, live.state as live_state, live.error as live_error, live.attempt as live_attempt,
       latest.status as latest_status, latest.reason as latest_reason, latest.error as latest_error, latest.finished_at
from sexton.content_releases as release
left join sexton.timers as timer on timer.job_id = release.job_id
left join lateral (
    select run.state, run.error, run.attempt from sexton.runs as run
    where run.job_id = release.job_id
    order by run.scheduled_at desc
    limit 1
) as live on true
left join lateral (
    select ended.status, ended.reason, ended.error, ended.finished_at from sexton.history as ended
    where ended.job_id = release.job_id and ended.recorded_at >= release.created_at
    order by ended.recorded_at desc
    limit 1
) as latest on true
where release.id = any (:ids::bigint[]) and release.namespace = :namespace
