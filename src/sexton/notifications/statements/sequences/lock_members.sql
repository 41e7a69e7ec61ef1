-- Lock a recipient's places in one sequence, or in all that stop on an event, with the messages that are still open.
select member.*, sequence.name, array(
    select message.id
    from sexton.messages as message
    where message.id = any (member.message_ids) and message.namespace = :namespace and message.status in ('pending', 'held')
    order by message.id
) as open_ids
from sexton.sequence_members as member
join sexton.sequences as sequence on sequence.id = member.sequence_id
where member.namespace = :namespace and member.user_id = :user_id and member.stopped_at is null
    and (:sequence_id::bigint is null or member.sequence_id = :sequence_id)
    and (:event::text is null or :event = any (sequence.stop_on))
order by member.sequence_id, member.entered
for no key update of member
