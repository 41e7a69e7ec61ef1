-- Take one shard: a new epoch, minted here and nowhere else, if nobody who lives holds it or the elector's word is
-- enough. The row lock waits for the old leader's open firing. $1 shard, $2 node, $3 the epoch that was seen,
-- $4 whether the elector's word is enough
update sexton.shards s
set epoch = s.epoch + 1, holder = $2, taken_at = clock_timestamp()
where s.id = $1 and s.epoch = $3
  and ($4 or not exists (
      select from sexton.nodes n
      where n.id = s.holder and n.id <> $2 and n.state <> 'dead' and n.lease_until > clock_timestamp()
  ))
returning s.epoch
