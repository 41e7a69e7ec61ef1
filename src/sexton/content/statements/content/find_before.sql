-- An earlier action on the entity that has not ended: it fired and is live, or is due and will fire.
select other.id
from sexton.content_schedules as other
where other.namespace = :namespace and other.entity_type = :entity_type and other.entity_id = :entity_id
    and other.id <> :schedule_id and other.cancelled_at is null and other.job_id is not null
    and (
        exists (
            select from sexton.runs as run
            where run.job_id = other.job_id and run.trigger in ('schedule', 'catch_up')
                and (run.scheduled_at, other.id) < (:scheduled_at::timestamptz, :schedule_id::bigint)
        )
        or exists (
            select from sexton.timers as timer
            where timer.job_id = other.job_id and timer.due_at <= clock_timestamp()
                and (timer.scheduled_at, other.id) < (:scheduled_at::timestamptz, :schedule_id::bigint)
        )
    )
limit 1
