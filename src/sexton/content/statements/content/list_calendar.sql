-- Single actions in a range after a place, in the order of their time, with their states. Planned anew for every call, so that only
-- the filters that are given count, and each finds its index.
with looked as materialized (
    select *
    from sexton.content_schedules as plan
    where namespace = :namespace and recurrence_rule is null
        and (scheduled_at, id) > (:after_at::timestamptz, :after_id::bigint)
        and scheduled_at >= :start and scheduled_at < :end
        and (cancelled_at is not null) = :cancelled::boolean
        and (:action::text is null or action = :action)
-- include: plan_chosen
    order by scheduled_at, id
    limit :limit
)
select plan.*, latest.run_id, latest.error as latest_error, latest.reason as latest_reason,
-- include: plan_status
       as status,
-- include: entity_title
       as entity_title
from looked as plan
left join lateral (
    select ended.run_id, ended.error, ended.reason from sexton.history as ended
    where ended.job_id = plan.job_id and ended.recorded_at >= plan.created_at
    order by ended.recorded_at desc
    limit 1
) as latest on true
order by plan.scheduled_at, plan.id
