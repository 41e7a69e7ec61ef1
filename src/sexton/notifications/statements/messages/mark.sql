-- A run submits these messages.
with timed as (
    update sexton.message_timers set run_id = :run_id::bigint
    where message_id = any (:ids::text::bigint[])
)
update sexton.messages
set status = 'processing', run_id = :run_id::bigint, submitted_at = :now::timestamptz, due_at = null,
    channel_at = case when channel_after_seconds is null then null else coalesce(channel_at, :now::timestamptz) end
where namespace = :namespace and id = any (:ids::text::bigint[])
