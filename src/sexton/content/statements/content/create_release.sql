insert into sexton.content_releases (
    id, namespace, adapter, on_failure, preflight_seconds, note, created_by, created_at, job_id, check_job_id, timezone,
    scheduled_at, max_retries, catch_up_seconds, needs_approval
)
values (
    :id, :namespace, :adapter, :on_failure, :preflight_seconds, :note, :created_by,
    coalesce(:now::timestamptz, clock_timestamp()), :job_id, :check_job_id, :timezone, :scheduled_at, :max_retries,
    :catch_up_seconds, :needs_approval
)
