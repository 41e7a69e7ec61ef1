-- The state of a recipient in a sequence, since the last time of joining it; `live`: a message is still to come.
select member.*, exists (
    select from sexton.messages as message
    where message.id = any (member.message_ids) and message.namespace = :namespace
        and message.status in ('pending', 'held', 'processing')
) as live
from sexton.sequence_members as member
where member.namespace = :namespace and member.sequence_id = :sequence_id and member.user_id = :user_id
order by member.entered desc
limit 1
