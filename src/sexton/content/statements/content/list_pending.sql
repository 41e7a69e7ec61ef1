-- Actions of an entity that are still to come, each with its next time.
select plan.id, plan.action, plan.window_id, timer.scheduled_at as at
from sexton.content_schedules as plan
join sexton.timers as timer on timer.job_id = plan.job_id
where plan.namespace = :namespace and plan.entity_type = :entity_type and plan.entity_id = :entity_id
    and plan.cancelled_at is null
order by timer.scheduled_at, plan.id
limit :limit
