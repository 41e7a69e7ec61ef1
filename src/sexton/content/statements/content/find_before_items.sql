-- Whether an earlier action on an entity of the release has not ended. At one instant, those with the lower id go first; a
-- release has one id for all of its items, so that no two wait for each other.
select exists (
    select
    from sexton.content_schedules as item
    join sexton.content_schedules as other
        on other.namespace = item.namespace and other.entity_type = item.entity_type and other.entity_id = item.entity_id
    where item.release_id = :release_id and item.namespace = :namespace and item.cancelled_at is null
        and other.release_id is distinct from item.release_id and other.cancelled_at is null
        and (other.recurrence_rule is not null or (other.done_at is null and other.scheduled_at <= :at))
        and (
            exists (
                select from sexton.runs as run
                where run.job_id = other.job_id and run.trigger in ('schedule', 'catch_up')
                    and (run.scheduled_at, coalesce(other.release_id, other.id)) < (:at::timestamptz, item.release_id)
            )
            or exists (
                select from sexton.timers as timer
                where timer.job_id = other.job_id and timer.due_at <= clock_timestamp()
                    and (timer.scheduled_at, coalesce(other.release_id, other.id)) < (:at::timestamptz, item.release_id)
            )
        )
)
