-- Messages of a chunk that a run before this one, or an attempt before this one, has begun to submit and not settled.
select message.id, message.channels, message.channel_index, message.campaign_id
from sexton.campaign_chunks as chunk
join sexton.messages as message
    on message.id between chunk.first_id and chunk.last_id and message.campaign_id = chunk.campaign_id
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = :number
    and chunk.state = 'open' and chunk.run_id = :run_id and message.status = 'processing'
order by message.id
for update of message
