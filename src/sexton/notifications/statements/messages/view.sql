-- Messages by their ids, as users see them; those that the namespace does not have are left out.
select
-- include: message_columns
    ,
-- include: message_status
    as status
from sexton.messages
where messages.namespace = :namespace and messages.id = any (:message_ids::bigint[])
order by messages.id
