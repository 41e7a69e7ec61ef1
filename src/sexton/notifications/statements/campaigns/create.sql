-- Create a campaign.
insert into sexton.campaigns (
    id, namespace, name, description, template_id, template_version, channels, vars, topic, urgency, expires_seconds, max_retries,
    retry_seconds, on_doubt, audience, audience_id, filter, needed, send_at, local_time, timezone, when_past, rate, send_window,
    prepare_seconds, canary, late_seconds, job_id, status, armed_at, created_by, created_at
)
values (
    :id, :namespace, :name, :description, :template_id, :template_version, :channels, :vars::text::jsonb, :topic, :urgency,
    :expires_seconds, :max_retries, :retry_seconds, :on_doubt, :audience::text::jsonb, :audience_id, :filter, :needed, :send_at,
    :local_time, :timezone, :when_past, :rate, :send_window::text::jsonb, :prepare_seconds, :canary,
    :late_seconds, :job_id, :status, :armed_at, :created_by, coalesce(:now::timestamptz, clock_timestamp())
)
