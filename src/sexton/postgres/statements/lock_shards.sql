-- Lock those of these shards that nobody has locked. $1 the cluster's space of locks, $2 shards that we have not locked
select shard from unnest($2::int[]) as shard where pg_try_advisory_lock($1::int, shard)
