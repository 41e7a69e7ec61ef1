-- Lock a recurring notification until the transaction ends.
select schedule.*, timer.scheduled_at as next_fire_at
from sexton.notification_schedules as schedule
left join sexton.timers as timer on timer.job_id = schedule.job_id
where schedule.namespace = :namespace and schedule.id = :id and schedule.deleted_at is null
for no key update of schedule
