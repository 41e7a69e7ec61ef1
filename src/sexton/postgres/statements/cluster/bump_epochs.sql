-- Take every shard from its holder: firings under the old epochs are refused from now on. Waits for open firings.
with locked as materialized (
    select id from sexton.shards order by id for update
)
update sexton.shards s set epoch = s.epoch + 1, holder = null from locked where s.id = locked.id
