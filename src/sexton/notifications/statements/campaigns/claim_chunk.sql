-- The next messages of a chunk, which is locked, that are due. `is not distinct from`: the messages are found by their range of ids and by
-- no other index, also where the table has grown by millions since it was analyzed.
with moment as materialized (select clock_timestamp() as now)
select
-- include: claimed_message
    , (select now from moment) as now
from sexton.messages as message
left join sexton.recipients as recipient on recipient.namespace = message.namespace and recipient.user_id = message.user_id
where message.namespace = :namespace
    and message.id > :after and message.id between :first_id and :last_id
    and message.campaign_id is not distinct from :campaign_id
    and message.status in ('pending', 'held')
    and message.due_at <= (select now from moment)
order by message.id
limit :limit
