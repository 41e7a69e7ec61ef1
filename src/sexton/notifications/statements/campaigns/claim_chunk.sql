-- Lock the next messages of a chunk that are due, for the run that has it.
with moment as materialized (select clock_timestamp() as now),
own as materialized (
    select chunk.number
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = :number
        and chunk.state = 'open' and chunk.run_id = :run_id
    for no key update
)
select
-- include: claimed_message
    , (select now from moment) as now
from sexton.messages as message
left join sexton.recipients as recipient on recipient.namespace = message.namespace and recipient.user_id = message.user_id
where exists (select from own)
    and message.id > :after and message.id between :first_id and :last_id
    and message.campaign_id = :campaign_id
    and message.status in ('pending', 'held')
    and message.due_at <= (select now from moment)
order by message.id
limit :limit
for update of message
