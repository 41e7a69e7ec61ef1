-- Whether the runs of a queue that share a key are limited. $1 namespace, $2 name
select exists (select from sexton.queues where namespace = $1 and name = $2 and key_concurrency is not null)
