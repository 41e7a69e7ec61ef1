-- The columns that sending needs, of `message` and its `recipient`.
message.id, message.user_id, message.address::text as address, message.channels, message.channel_index, message.channel_at,
    message.channel_after_seconds, message.channel_unless, message.template_id, message.template_version,
    message.vars::text as vars, message.topic, message.urgency, message.scheduled_at, message.expires_at, message.status,
    message.hold_reason, message.retry_count, message.max_retries, message.retry_seconds, message.key,
    recipient.email, recipient.phone, recipient.devices::text as devices, recipient.addresses::text as addresses,
    recipient.timezone, recipient.locale, recipient.quiet_hours::text as quiet_hours, recipient.opt_outs::text as opt_outs,
    recipient.caps::text as caps, recipient.fields::text as fields, recipient.suppressed_reason
