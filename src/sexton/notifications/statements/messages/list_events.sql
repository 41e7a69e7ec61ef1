-- The events of a message, in order.
select at, kind, detail::text
from sexton.message_events
where namespace = :namespace and message_id = :message_id
order by id
limit :limit
