-- Make lanes that do not exist, always in the same order, since other transactions may make them, too. Workers are notified once,
-- when the transaction commits.
with made as (
    insert into sexton.lanes (namespace, queue, target, handler, keyed)
    select :namespace, queue, target, handler, keyed
    from unnest(:queues::text[], :targets::text[], :handlers::text[], :keyed::boolean[]) as wanted (queue, target, handler, keyed)
    order by queue, target, handler, keyed
    on conflict (namespace, queue, target, handler, keyed) do nothing
    returning id
)
select pg_notify('sexton_lanes', max(id)::text) from made having count(*) > 0
