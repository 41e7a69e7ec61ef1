-- Those of some messages that their chunks have marked. To be asked once they are locked: before, another may be about to mark them.
select messages.id
from sexton.messages
where messages.namespace = :namespace and messages.id = any (:message_ids::bigint[]) and messages.campaign_id is not null
    and
-- include: message_status
    = 'processing'
