-- The columns of a message that users see, except its status.
id, campaign_id, user_id, address::text as address, channels, channel_index, template_id, template_version, topic, urgency,
    scheduled_at, local_time, timezone, timing::text as timing, due_at, expires_at, hold_reason, retry_count,
    max_retries, retry_seconds, failure_reason, provider, provider_id, run_id, submitted_at, sent_at, settled_at, created_at,
    created_by, schedule_id, digest_id, sequence_id
