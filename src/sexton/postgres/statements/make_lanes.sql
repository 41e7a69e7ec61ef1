-- Lanes that are new, in one order for all who make them at once; workers are told once, when the transaction commits.
-- $1 queues, $2 kinds of target, $3 handlers, $4 whether keyed
with made as (
    insert into sexton.lanes (queue, target, handler, keyed)
    select queue, target, handler, keyed
    from unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) as wanted (queue, target, handler, keyed)
    order by queue, target, handler, keyed
    on conflict (queue, target, handler, keyed) do nothing
    returning id
)
select pg_notify('sexton_lanes', max(id)::text) from made having count(*) > 0
