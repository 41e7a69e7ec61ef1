-- Write an event into the open digest message, which is locked; no row: the message would become too large.
update sexton.messages
set vars = jsonb_set(
    jsonb_set(vars, '{events}', (vars -> 'events') || jsonb_build_array(:data::text::jsonb)),
    '{count}', to_jsonb(jsonb_array_length(vars -> 'events') + 1)
)
where namespace = :namespace and id = :message_id and octet_length(vars::text) + octet_length(:data::text) + 16 <= :most_bytes::integer
returning id
