-- Whether the chunk of a message has marked it. To be asked once the message is locked: before, another may be about to mark it.
select
-- include: message_status
    = 'processing'
from sexton.messages
where namespace = :namespace and id = :message_id
