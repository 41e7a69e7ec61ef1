-- Those of these messages that were read or opened.
select distinct message_id from sexton.message_events
where message_id = any (:ids::bigint[]) and kind in ('read', 'opened')
