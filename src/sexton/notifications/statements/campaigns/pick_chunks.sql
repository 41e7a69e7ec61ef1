-- The next chunks of a campaign, which is locked, that can be sent now; the earliest first.
select chunk.number
from sexton.campaign_chunks as chunk
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.state = 'ready'
    and chunk.next_at <= :now and (chunk.canary or not :canary_only::boolean)
order by chunk.next_at, chunk.number
limit :limit
