-- Lock those of these shards that are free, of which this session has locked none. :space is the cluster's space of locks.
select shard from unnest(:shards::int[]) as shard where pg_try_advisory_lock(:space::int, shard)
