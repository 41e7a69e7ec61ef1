-- Lock some messages of a namespace that are due, the oldest first. The timer is the lock; messages of other runs are skipped.
with moment as materialized (select clock_timestamp() as now),
due as materialized (
    select timer.message_id, timer.due_at
    from sexton.message_timers as timer
    where timer.namespace = :namespace
        and timer.run_id is null
        and timer.due_at <= (select now from moment)
    order by timer.due_at, timer.message_id
    limit :limit
    for update skip locked
)
select
-- include: claimed_message
    , (select now from moment) as now
from due
join sexton.messages as message on message.id = due.message_id
left join sexton.recipients as recipient on recipient.namespace = message.namespace and recipient.user_id = message.user_id
order by due.due_at, due.message_id
