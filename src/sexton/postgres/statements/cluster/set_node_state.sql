-- Set the :state of the nodes whose state was :before: to drain them, or to undo it. Notifies schedulers and workers.
with changed as (
    update sexton.nodes set state = :state where id = any (:nodes::bigint[]) and state = :before returning id
),
notified as materialized (
    select pg_notify('sexton_shards', ''), pg_notify('sexton_cancels', '') where exists (select from changed)
)
select changed.id, (select count(*) from notified) as notified from changed
