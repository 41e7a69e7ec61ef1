-- Hand shards over: they are free at once, and keep their epoch until the next takeover. The other schedulers are
-- notified, so that they need not wait for their next beat.
with given as (
    update sexton.shards set holder = null where id = any (:shards::smallint[]) and holder = :node returning 1
)
select pg_notify('sexton_shards', '') where exists (select from given)
