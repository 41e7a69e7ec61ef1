insert into sexton.inbox (namespace, user_id, key, message_id, parts, topic, created_at, expires_at)
select :namespace, given.user_id, given.key, given.message_id, given.parts, given.topic,
    coalesce(:now::timestamptz, clock_timestamp()),
    coalesce(:now::timestamptz, clock_timestamp()) + make_interval(days => :days::int)
from unnest(:user_ids::text[], :keys::text[], :message_ids::bigint[], :parts::text[]::jsonb[], :topics::text[])
    as given (user_id, key, message_id, parts, topic)
on conflict (namespace, user_id, key) do nothing
