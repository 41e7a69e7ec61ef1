-- Drain some nodes, or let them go on. Schedulers and workers are told. $1 nodes, $2 the new state, $3 the old one
with changed as (
    update sexton.nodes set state = $2 where id = any ($1::bigint[]) and state = $3 returning id
),
told as materialized (
    select pg_notify('sexton_shards', ''), pg_notify('sexton_cancels', '') where exists (select from changed)
)
select changed.id, (select count(*) from told) as told from changed
