-- Cancel what is left of some chunks of a campaign that was called off; what is being submitted is left to its run.
with chosen as materialized (
    select chunk.number, chunk.first_id, chunk.last_id
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.state = 'ready'
    order by chunk.number
    limit :limit
),
gone as (
    update sexton.messages as message
    set status = 'cancelled', due_at = null, hold_reason = null, failure_reason = :reason, settled_at = :now
    from chosen
    where message.id between chosen.first_id and chosen.last_id and message.campaign_id = :campaign_id
        and message.status in ('pending', 'held')
    returning chosen.number
),
counted as (
    select chosen.number, count(gone.number) as cancelled from chosen left join gone on gone.number = chosen.number group by chosen.number
)
update sexton.campaign_chunks as chunk
set state = 'done', cancelled = chunk.cancelled + counted.cancelled, changed_at = :now
from counted
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = counted.number
returning chunk.number
