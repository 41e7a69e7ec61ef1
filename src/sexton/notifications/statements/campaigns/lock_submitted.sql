-- Messages of a chunk that a run before this one, or an attempt before this one, has marked and not settled; and by which run, and when.
with own as materialized (
    select chunk.campaign_id, chunk.marked_run, chunk.marked_after, chunk.marked_to, chunk.marked_at
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = :number
        and chunk.state = 'open' and chunk.run_id = :run_id and chunk.marked_at is not null
    for no key update
)
select message.id, message.channels, message.channel_index, message.campaign_id, own.marked_run, own.marked_at
from own
left join sexton.messages as message
    on message.namespace = :namespace and message.id > own.marked_after and message.id <= own.marked_to
    and message.campaign_id is not distinct from own.campaign_id
    and message.status in ('pending', 'held') and message.due_at <= own.marked_at
order by message.id
