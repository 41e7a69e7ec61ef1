-- What was unusual about messages. Those that were erased meanwhile leave no trace.
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, given.message_id, :now::timestamptz, given.kind, given.detail::jsonb
from unnest(:ids::bigint[], :kinds::text[], :details::text[]) with ordinality as given (message_id, kind, detail, place)
where exists (select from sexton.messages where namespace = :namespace and id = given.message_id)
order by given.place
