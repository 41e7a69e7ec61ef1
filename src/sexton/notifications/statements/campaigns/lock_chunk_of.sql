-- The chunk that a message of a campaign is in.
select chunk.number
from sexton.campaign_chunks as chunk
join sexton.messages as message on message.campaign_id = chunk.campaign_id
where message.namespace = :namespace and message.id = :message_id and chunk.namespace = :namespace
    and message.id between chunk.first_id and chunk.last_id
for no key update of chunk
