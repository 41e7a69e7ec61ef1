insert into sexton.message_events (namespace, message_id, at, kind, detail)
values (:namespace, :message_id, coalesce(:now::timestamptz, clock_timestamp()), :kind, :detail::jsonb)
