select message.id, message.status, message.campaign_id, message.scheduled_at, message.expires_at,
       recipient.timezone as recipient_timezone,
       (select timezone from sexton.notification_settings where namespace = :namespace) as own_timezone
from sexton.messages as message
left join sexton.recipients as recipient
    on recipient.namespace = message.namespace and recipient.user_id = message.user_id
where message.namespace = :namespace and message.id = :message_id
for update of message
