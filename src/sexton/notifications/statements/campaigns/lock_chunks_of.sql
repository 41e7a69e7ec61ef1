-- The chunks that messages of campaigns are in.
with found as materialized (
    select distinct chunk.campaign_id, chunk.number
    from sexton.messages as message
    join sexton.campaign_chunks as chunk
        on chunk.campaign_id = message.campaign_id and message.id between chunk.first_id and chunk.last_id
    where message.namespace = :namespace and message.id = any (:message_ids::bigint[]) and chunk.namespace = :namespace
)
select chunk.number
from found
join sexton.campaign_chunks as chunk on chunk.campaign_id = found.campaign_id and chunk.number = found.number
where chunk.namespace = :namespace
order by chunk.campaign_id, chunk.number
for no key update of chunk
