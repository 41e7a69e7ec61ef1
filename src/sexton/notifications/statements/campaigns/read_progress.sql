-- What became of the messages of campaigns, summed over the chunks of each.
select wanted.id as campaign_id, summed.*
from unnest(:campaign_ids::bigint[]) as wanted (id)
cross join lateral (
    select coalesce(sum(chunk.size), 0)::bigint as size, coalesce(sum(chunk.sent), 0)::bigint as sent,
        coalesce(sum(chunk.failed), 0)::bigint as failed, coalesce(sum(chunk.suppressed), 0)::bigint as suppressed,
        coalesce(sum(chunk.expired), 0)::bigint as expired, coalesce(sum(chunk.unconfirmed), 0)::bigint as unconfirmed,
        coalesce(sum(chunk.cancelled), 0)::bigint as cancelled,
        min(chunk.next_at) filter (where chunk.state = 'ready') as next_at,
        (array_agg(chunk.wait_reason order by chunk.next_at) filter (where chunk.state = 'ready' and chunk.wait_reason is not null))[1] as wait_reason
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = wanted.id and chunk.namespace = :namespace
) as summed
