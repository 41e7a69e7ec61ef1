-- Record that an event is in this message, and in no other.
with gathered as (
    update sexton.digest_gatherings
    set message_id = :message_id, events = :events
    where digest_id = :digest_id and namespace = :namespace and user_id = :user_id and key = :key
)
insert into sexton.digest_events (digest_id, event_id, namespace, user_id, key, message_id, at, data)
values (
    :digest_id, :event_id, :namespace, :user_id, :key, :message_id, coalesce(:now::timestamptz, clock_timestamp()), :data::text::jsonb
)
