-- Lock the timers of messages, as a worker does before it submits them. While a message is being submitted, its run holds the lock.
select timer.message_id
from sexton.message_timers as timer
where timer.namespace = :namespace and timer.message_id = any (:message_ids::bigint[]) and timer.run_id is null
order by timer.message_id
for update
