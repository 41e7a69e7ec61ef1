select
-- include: message_columns
from sexton.messages
where namespace = :namespace and id = :message_id
