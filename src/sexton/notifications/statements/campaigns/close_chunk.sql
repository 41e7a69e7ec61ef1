-- Close a chunk whose run has gone through it, with its counts from the ledger. What is left of it makes it ready again, at the earliest
-- time of its messages, or at :not_before.
with counted as materialized (
    select count(*) filter (where message.status in ('sent', 'delivered', 'bounced')) as sent,
        count(*) filter (where message.status = 'failed') as failed,
        count(*) filter (where message.status = 'suppressed') as suppressed,
        count(*) filter (where message.status = 'expired') as expired,
        count(*) filter (where message.status = 'unconfirmed') as unconfirmed,
        count(*) filter (where message.status = 'cancelled') as cancelled,
        count(*) filter (where message.status in ('pending', 'held', 'processing')) as left,
        min(coalesce(message.due_at, :now)) filter (where message.status in ('pending', 'held', 'processing')) as next_at
    from sexton.campaign_chunks as chunk
    join sexton.messages as message
        on message.id between chunk.first_id and chunk.last_id and message.campaign_id is not distinct from chunk.campaign_id
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = :number
)
update sexton.campaign_chunks as chunk
set sent = counted.sent, failed = counted.failed, suppressed = counted.suppressed, expired = counted.expired,
    unconfirmed = counted.unconfirmed, cancelled = counted.cancelled,
    state = case when counted.left = 0 then 'done' else 'ready' end,
    run_id = null, next_at = greatest(counted.next_at, :not_before::timestamptz, chunk.due_at),
    wait_reason = case when counted.left > 0 then :wait_reason end,
    changed_at = :now
from counted
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = :number
    and chunk.state = 'open' and chunk.run_id = :run_id
returning chunk.state, chunk.next_at, chunk.sent, chunk.failed, chunk.suppressed, chunk.expired, chunk.unconfirmed, counted.left
