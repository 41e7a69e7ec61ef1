-- What is planned for each of these entities, at most :limit each; of a series also what its job says.
select pending.*
from unnest(:types::text[], :entity_ids::text[]) as wanted (entity_type, entity_id)
cross join lateral (
    select plan.entity_type, plan.entity_id, plan.id, plan.action, plan.window_id, plan.release_id, plan.recurrence_rule,
           plan.open_for, plan.skipped, plan.timezone, timer.scheduled_at as at,
           job.schedule as job_schedule, job.timezone as job_timezone, job.kind as job_kind, job.anchor as job_anchor,
           job.name as job_name, job.options as job_options, job.moved as job_moved, job.target as job_target,
           job.payload as job_payload, job.labels as job_labels, job.description as job_description, job.owner as job_owner
    from sexton.content_schedules as plan
    join sexton.timers as timer on timer.job_id = plan.job_id
    left join sexton.jobs as job on job.id = plan.job_id and plan.recurrence_rule is not null
    where plan.namespace = :namespace and plan.entity_type = wanted.entity_type and plan.entity_id = wanted.entity_id
        and plan.cancelled_at is null and plan.result is null
        and (plan.recurrence_rule is not null or plan.done_at is null)
    order by timer.scheduled_at, plan.id
    limit :limit
) as pending
