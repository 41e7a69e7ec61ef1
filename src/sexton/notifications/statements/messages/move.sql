-- A locked message is sent at another time.
with moved as (
    update sexton.messages
    set status = 'pending', scheduled_at = :scheduled_at::timestamptz, local_time = :local_time::timestamp,
        timezone = :timezone, timing = :timing::text::jsonb, due_at = :due_at::timestamptz,
        expires_at = :expires_at::timestamptz, hold_reason = null
    where namespace = :namespace and id = :message_id
    returning id
),
timed as (
    update sexton.message_timers set due_at = :due_at::timestamptz where message_id in (select id from moved)
)
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, id, :now::timestamptz, 'rescheduled', :detail::text::jsonb from moved
