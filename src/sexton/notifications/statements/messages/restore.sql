-- Cancelled messages, which are locked, wait for their time again.
with back as (
    update sexton.messages
    set status = 'pending', due_at = :due_at::timestamptz, settled_at = null
    where namespace = :namespace and id = :message_id
    returning id
),
timed as (
    insert into sexton.message_timers (namespace, message_id, due_at)
    select :namespace, id, :due_at::timestamptz from back
)
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, id, :now::timestamptz, 'restored', :detail::text::jsonb from back
