-- Lock the messages that these runs submit, with their timers.
select message.id, message.channels, message.channel_index, message.campaign_id
from sexton.message_timers as timer
join sexton.messages as message on message.id = timer.message_id
where timer.run_id = any (:run_ids::bigint[]) and timer.namespace = :namespace and message.status = 'processing'
order by timer.message_id
for update
