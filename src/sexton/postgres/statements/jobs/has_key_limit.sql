-- Whether the runs of a queue that share a key are limited.
select exists (select from sexton.queues where namespace = :namespace and name = :queue and key_concurrency is not null)
