with items as (
    update sexton.content_schedules set scheduled_at = :scheduled_at, timezone = :timezone
    where release_id = :release_id and namespace = :namespace and cancelled_at is null
)
update sexton.content_releases
set scheduled_at = :scheduled_at, timezone = :timezone, check_job_id = :check_job_id, revision = revision + 1
where id = :release_id and namespace = :namespace
