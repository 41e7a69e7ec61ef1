-- What keeps runs of queues from starting: a pause, a limit that is reached, and keys that have as many runs as they may
-- have.
select queue.name, queue.paused_at is not null as paused, queue.paused_reason, queue.concurrency, queue.key_concurrency,
    queue.rate,
    coalesce(queue.concurrency <= (
        select count(*) from sexton.runs as run where run.limited_by = queue.id and run.state in ('running', 'waiting')
    ), false) as full,
    coalesce(queue.rate is not null and queue.tokens + queue.rate * greatest(
        0, date_part('epoch', coalesce(:now::timestamptz, clock_timestamp()) - queue.refilled_at)
    ) < 1, false) as empty,
    array(
        select run.concurrency_key
        from sexton.runs as run
        where run.limited_by = queue.id and run.state in ('running', 'waiting') and run.concurrency_key is not null
        group by run.concurrency_key
        having count(*) >= queue.key_concurrency
        limit 10000
    ) as full_keys
from sexton.queues as queue
where queue.namespace = :namespace
