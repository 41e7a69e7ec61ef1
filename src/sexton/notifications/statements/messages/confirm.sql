-- A locked message that may have gone out counts as sent.
with confirmed as (
    update sexton.messages
    set status = 'sent', sent_at = coalesce(submitted_at, :now::timestamptz), settled_at = :now, due_at = null, failure_reason = null
    where namespace = :namespace and id = :message_id
    returning id
)
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, confirmed.id, :now, 'confirmed', :detail::jsonb from confirmed
