-- The notification that a run of its job makes.
select schedule.*
from sexton.notification_schedules as schedule
where schedule.id = :id and schedule.job_id = :job_id and schedule.deleted_at is null
