-- Remove the recurring notifications of a person; returns their jobs that exist.
with gone as (
    delete from sexton.notification_schedules where namespace = :namespace and user_id = :user_id
    returning job_id, deleted_at
)
select job_id from gone where deleted_at is null
