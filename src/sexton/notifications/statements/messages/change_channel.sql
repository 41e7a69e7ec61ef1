-- Submit these messages on another channel than before.
update sexton.messages as message
set channel_index = changed.channel_index, retry_count = 0
from unnest(:ids::bigint[], :indexes::smallint[]) as changed (id, channel_index)
where message.namespace = :namespace and message.id = changed.id
