-- Lock what is said of a queue until the transaction ends.
select concurrency, key_concurrency, rate, burst, paused_at, paused_reason
from sexton.queues
where namespace = :namespace and name = :name
for no key update
