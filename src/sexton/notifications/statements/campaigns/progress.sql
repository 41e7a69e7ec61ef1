-- What became of the messages of a campaign, summed over its chunks.
select coalesce(sum(chunk.size), 0)::bigint as size, coalesce(sum(chunk.sent), 0)::bigint as sent,
    coalesce(sum(chunk.failed), 0)::bigint as failed, coalesce(sum(chunk.suppressed), 0)::bigint as suppressed,
    coalesce(sum(chunk.expired), 0)::bigint as expired, coalesce(sum(chunk.unconfirmed), 0)::bigint as unconfirmed,
    coalesce(sum(chunk.cancelled), 0)::bigint as cancelled, count(*) as chunks, count(*) filter (where chunk.state = 'done') as chunks_done,
    min(chunk.next_at) filter (where chunk.state = 'ready') as next_at,
    (array_agg(chunk.wait_reason order by chunk.next_at) filter (where chunk.state = 'ready' and chunk.wait_reason is not null))[1] as wait_reason
from sexton.campaign_chunks as chunk
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace
