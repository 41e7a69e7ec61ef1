-- Cancel locked messages.
with ended as (
    update sexton.messages
    set status = 'cancelled', due_at = null, hold_reason = null, settled_at = :now::timestamptz
    where namespace = :namespace and id = any (:message_ids::bigint[])
    returning id
),
untimed as (
    delete from sexton.message_timers where message_id in (select id from ended)
)
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, id, :now::timestamptz, 'cancelled', :detail::text::jsonb from ended
