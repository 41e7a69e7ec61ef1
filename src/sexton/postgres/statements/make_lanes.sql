-- Lanes that are new, in one order for all who make them at once; workers are told once, when the transaction commits.
-- $1 queues, $2 kinds of target, $3 handlers
with made as (
    insert into sexton.lanes (queue, target, handler)
    select queue, target, handler
    from unnest($1::text[], $2::text[], $3::text[]) as wanted (queue, target, handler)
    order by queue, target, handler
    on conflict (queue, target, handler) do nothing
    returning id
)
select pg_notify('sexton_lanes', max(id)::text) from made having count(*) > 0
