-- Take one shard: a new epoch, minted here and nowhere else, if its holder's lease is over or the elector's word is final.
-- :epoch is the one that was seen. The row lock waits for the old leader's open firing.
update sexton.shards s
set epoch = s.epoch + 1, holder = :node, taken_at = clock_timestamp()
where s.id = :shard and s.epoch = :epoch
  and (:final or not exists (
      select from sexton.nodes n
      where n.id = s.holder and n.id <> :node and n.state <> 'dead' and n.lease_until > clock_timestamp()
  ))
returning s.epoch
