-- Planned actions with the state of their jobs: the timer, the live run, and how the latest occurrence ended.
select plan.*, plan.error as item_error, timer.scheduled_at as timer_at,
       job.schedule as job_schedule, job.timezone as job_timezone, job.kind as job_kind, job.anchor as job_anchor,
       job.name as job_name, job.options as job_options, job.moved as job_moved, job.target as job_target,
       job.payload as job_payload, job.labels as job_labels, job.description as job_description, job.owner as job_owner,
       live.state as live_state, live.error as live_error,
       latest.status as latest_status, latest.scheduled_at as latest_at, latest.reason as latest_reason, latest.error as latest_error,
       coalesce(live.attempt, latest.attempt) as attempt, done.finished_at as executed_at, opening.at as window_opens_at,
-- include: entity_title
       as entity_title
from sexton.content_schedules as plan
left join sexton.jobs as job on job.id = plan.job_id
left join sexton.timers as timer on timer.job_id = plan.job_id
-- include: plan_runs
left join lateral (
    select ended.finished_at from sexton.history as ended
    where ended.job_id = plan.job_id and ended.recorded_at >= plan.created_at and ended.status = 'success'
    order by ended.recorded_at desc
    limit 1
) as done on true
-- Of what closes a window: when that was opened, or is to be.
left join lateral (
    select coalesce(plan.opened_at, opens.scheduled_at) as at from sexton.content_schedules as opens
    where plan.window_id <> plan.id and opens.id = plan.window_id
        and (
            opens.done_at >= coalesce(plan.opened_at, opens.scheduled_at)
            or (
                opens.cancelled_at is null
                and coalesce(plan.opened_at, opens.scheduled_at) > coalesce(:now::timestamptz, clock_timestamp())
            )
        )
) as opening on true
where plan.id = any (:ids::bigint[]) and plan.namespace = :namespace
