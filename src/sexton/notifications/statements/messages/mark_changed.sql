-- A run submits these messages on another channel than before.
with timed as (
    update sexton.message_timers set run_id = :run_id::bigint
    where message_id = any (:ids::bigint[])
)
update sexton.messages as message
set status = 'processing', run_id = :run_id::bigint, submitted_at = :now::timestamptz, due_at = null,
    channel_index = changed.channel_index, channel_at = :now::timestamptz, retry_count = 0
from unnest(:ids::bigint[], :indexes::smallint[]) as changed (id, channel_index)
where message.namespace = :namespace and message.id = changed.id
