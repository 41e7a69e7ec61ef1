-- Take every shard from its holder: from now on firings under the old epochs are refused. Waits for open firings.
with locked as materialized (
    select id from sexton.shards order by id for update
)
update sexton.shards s set epoch = s.epoch + 1, holder = null from locked where s.id = locked.id
