-- Recurring notifications in the order of their creation.
select schedule.*, timer.scheduled_at as next_fire_at
from sexton.notification_schedules as schedule
left join sexton.timers as timer on timer.job_id = schedule.job_id
where schedule.namespace = :namespace and schedule.id > :after and schedule.deleted_at is null
    and (:user_id::text is null or schedule.user_id = :user_id)
order by schedule.id
limit :limit
