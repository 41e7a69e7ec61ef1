-- Of these shards, lock those that are free. This session has locked none of them. :space is the cluster's space of locks.
select shard from unnest(:shards::int[]) as shard where pg_try_advisory_lock(:space::int, shard)
