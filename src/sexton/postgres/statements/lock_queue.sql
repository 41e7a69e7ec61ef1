-- What was said about a queue, held until the transaction ends. $1 namespace, $2 name
select concurrency, key_concurrency, rate, burst
from sexton.queues
where namespace = $1 and name = $2
for no key update
