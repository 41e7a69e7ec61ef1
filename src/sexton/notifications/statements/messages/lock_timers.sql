-- What a worker locks as well, before it submits messages. Of one that is being submitted, its run has the lock.
select timer.message_id
from sexton.message_timers as timer
where timer.namespace = :namespace and timer.message_id = any (:message_ids::bigint[]) and timer.run_id is null
order by timer.message_id
for update
