-- Send a locked message again, as if it had not been tried.
with again as (
    update sexton.messages
    set status = 'pending', due_at = :now::timestamptz, retry_count = 0, settled_at = null, failure_reason = null,
        expires_at = null, channel_at = null
    where namespace = :namespace and id = :message_id
    returning id
)
insert into sexton.message_timers (namespace, message_id, due_at)
select :namespace, id, :now::timestamptz from again
on conflict (message_id) do update set due_at = excluded.due_at, run_id = null
