-- The parts of a campaign by the instant at which they are due, the earliest first; the canary is listed apart.
select chunk.due_at, chunk.canary, sum(chunk.size)::bigint as messages, sum(chunk.sent)::bigint as sent, sum(chunk.failed)::bigint as failed,
    sum(chunk.suppressed + chunk.expired + chunk.unconfirmed)::bigint as others, sum(chunk.cancelled)::bigint as cancelled,
    bool_and(chunk.state = 'done') as done, bool_or(chunk.state = 'open') as open,
    min(chunk.next_at) filter (where chunk.state = 'ready') as next_at,
    (array_agg(chunk.wait_reason order by chunk.next_at) filter (where chunk.state = 'ready' and chunk.wait_reason is not null))[1] as wait_reason
from sexton.campaign_chunks as chunk
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace
group by chunk.due_at, chunk.canary
order by chunk.due_at, chunk.canary desc
limit :limit
