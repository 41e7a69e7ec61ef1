-- The columns of a recipient.
user_id, email, phone, devices::text, addresses::text, timezone, locale, quiet_hours::text, opt_outs::text, caps::text,
    fields::text, suppressed_at, suppressed_reason, created_at, updated_at
