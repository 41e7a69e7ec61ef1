-- Nodes that have been gone for a day, and that no live run or shard names any more.
delete from sexton.nodes as node
where node.lease_until < coalesce($1::timestamptz, clock_timestamp()) - interval '1 day'
    and not exists (select from sexton.shards as shard where shard.holder = node.id)
    and not exists (select from sexton.runs as run where run.node = node.id)
