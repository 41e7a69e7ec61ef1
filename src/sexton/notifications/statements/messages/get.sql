select
-- include: message_columns
    ,
-- include: message_status
    as status
from sexton.messages
where namespace = :namespace and id = :message_id
