-- Hand shards over: free at once, the epoch stays until somebody takes them. The others are told, so that they need
-- not wait for their next beat. $1 shards, $2 node
with given as (
    update sexton.shards set holder = null where id = any ($1::smallint[]) and holder = $2 returning 1
)
select pg_notify('sexton_shards', '') where exists (select from given)
