-- What is to come for each of these entities, at most :limit each.
select wanted.entity_type, wanted.entity_id, pending.*
from unnest(:types::text[], :entity_ids::text[]) as wanted (entity_type, entity_id)
cross join lateral (
    select plan.id, plan.action, plan.window_id, timer.scheduled_at as at
    from sexton.content_schedules as plan
    join sexton.timers as timer on timer.job_id = plan.job_id
    where plan.namespace = :namespace and plan.entity_type = wanted.entity_type and plan.entity_id = wanted.entity_id
        and plan.cancelled_at is null
    order by timer.scheduled_at, plan.id
    limit :limit
) as pending
