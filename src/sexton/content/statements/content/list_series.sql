-- Series that may have times in a range, with the state of their jobs. Planned anew for every call.
select plan.*, timer.scheduled_at as timer_at,
       job.schedule as job_schedule, job.timezone as job_timezone, job.kind as job_kind, job.anchor as job_anchor,
       job.name as job_name, job.options as job_options, job.moved as job_moved,
-- include: entity_title
       as entity_title
from sexton.content_schedules as plan
left join sexton.jobs as job on job.id = plan.job_id
left join sexton.timers as timer on timer.job_id = plan.job_id
where plan.namespace = :namespace and plan.recurrence_rule is not null
    and least(plan.scheduled_at, plan.created_at) < :end
-- include: plan_chosen
order by plan.scheduled_at, plan.id
limit :limit
