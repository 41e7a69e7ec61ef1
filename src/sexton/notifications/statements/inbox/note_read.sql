-- Record that messages were read, for `why`: once for each message.
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, given.message_id, coalesce(:now::timestamptz, clock_timestamp()), 'read', '{"channel": "in_app"}'
from unnest(:message_ids::bigint[]) as given (message_id)
where not exists (
    select 1 from sexton.message_events event where event.message_id = given.message_id and event.kind = 'read'
)
