-- Releases with the state of their jobs: the timer, the live run, and how it ended.
select plan.*, timer.scheduled_at as timer_at, live.state as live_state, live.error as live_error, live.attempt as live_attempt,
       latest.status as latest_status, latest.reason as latest_reason, latest.error as latest_error, latest.finished_at
from sexton.content_releases as plan
left join sexton.timers as timer on timer.job_id = plan.job_id
-- include: plan_runs
where plan.id = any (:ids::bigint[]) and plan.namespace = :namespace
