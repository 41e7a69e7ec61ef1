-- Lock the row of a queue (its limits, its pause) until the transaction ends.
select concurrency, key_concurrency, rate, burst, paused_at, paused_reason
from sexton.queues
where namespace = :namespace and name = :name
for no key update
