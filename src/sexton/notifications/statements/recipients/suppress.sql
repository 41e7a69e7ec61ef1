-- Suppress recipients, which are locked, or with a null reason let them get messages again.
update sexton.recipients
set suppressed_at = case when :reason::text is not null then coalesce(:now::timestamptz, clock_timestamp()) end,
    suppressed_reason = :reason::text
where namespace = :namespace and user_id = :user_id
