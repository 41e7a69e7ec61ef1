-- Lock the limits of a queue until the transaction ends.
select concurrency, key_concurrency, rate, burst
from sexton.queues
where namespace = :namespace and name = :name
for no key update
