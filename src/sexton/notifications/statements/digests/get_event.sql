-- An event of a digest, with the time of its message.
select event.*, message.due_at
from sexton.digest_events as event
left join sexton.messages as message on message.id = event.message_id
where event.namespace = :namespace and event.digest_id = :digest_id and event.event_id = :event_id
