-- Take one shard with a new epoch, which only this statement gives out, if the lease of its holder has ended or the
-- elector decides alone. :epoch is the last known one. The row lock waits for the old leader's open firing. If the shard
-- was not handed over, the audit names the node from which it was taken.
with before as materialized (
    select s.holder, coalesce(n.name, s.holder::text) as name
    from sexton.shards s
    left join sexton.nodes n on n.id = s.holder
    where s.id = :shard and s.epoch = :epoch
),
taken as (
    update sexton.shards s
    set epoch = s.epoch + 1, holder = :node, taken_at = clock_timestamp()
    where s.id = :shard and s.epoch = :epoch
      and (:final or not exists (
          select from sexton.nodes n
          where n.id = s.holder and n.id <> :node and n.state <> 'dead' and n.lease_until > clock_timestamp()
      ))
    returning s.epoch
),
noted as (
    insert into sexton.audit_pending (namespace, actor, face, address, action, object_id, before, after)
    select '*', 'sexton', 'sexton', n.name, 'shard.taken_over', :shard::smallint::text,
           json_build_object('leader', before.name, 'epoch', taken.epoch - 1),
           json_build_object('leader', n.name, 'epoch', taken.epoch)
    from taken, before left join sexton.nodes n on n.id = :node
    where before.holder <> :node
)
select epoch from taken
