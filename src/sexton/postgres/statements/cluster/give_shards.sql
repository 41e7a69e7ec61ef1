-- Hand shards over: they are free at once, and keep their epoch until the next takeover. The other schedulers are
-- notified, so that they need not wait for their next beat.
with given as (
    update sexton.shards set holder = null where id = any (:shards::smallint[]) and holder = :node returning id
),
noted as (
    insert into sexton.audit_pending (namespace, actor, face, address, action, detail)
    select '*', 'sexton', 'sexton', (select name from sexton.nodes where id = :node), 'shards.handed_over',
           json_build_object('shards', json_agg(id order by id))
    from given
    having count(*) > 0
)
select pg_notify('sexton_shards', '') where exists (select from given)
