-- Messages by their ids; those that the namespace does not have are left out.
select messages.id, messages.status
from sexton.messages
where messages.namespace = :namespace and messages.id = any (:message_ids::bigint[])
order by messages.id
for update
