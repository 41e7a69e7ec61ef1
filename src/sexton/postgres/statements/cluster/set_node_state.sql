-- Set the :state of the nodes whose state was :before: drain them, or let them go on. Schedulers and workers are told.
with changed as (
    update sexton.nodes set state = :state where id = any (:nodes::bigint[]) and state = :before returning id
),
told as materialized (
    select pg_notify('sexton_shards', ''), pg_notify('sexton_cancels', '') where exists (select from changed)
)
select changed.id, (select count(*) from told) as told from changed
