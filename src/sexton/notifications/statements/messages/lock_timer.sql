-- What a worker locks as well, before it submits a message. Of one that is being submitted, its run has the lock.
select 1 from sexton.message_timers where namespace = :namespace and message_id = :message_id and run_id is null for update
