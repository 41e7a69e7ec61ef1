-- A lane, made if it is new; workers are told of it when the transaction commits. $1 queue, $2 kind of target, $3 handler
with made as (
    insert into sexton.lanes (queue, target, handler) values ($1, $2, $3)
    on conflict (queue, target, handler) do update set queue = excluded.queue
    returning id, xmax = 0 as is_new
)
select id, case when is_new then pg_notify('sexton_lanes', id::text) end is null as known from made
