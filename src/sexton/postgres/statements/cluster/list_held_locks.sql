-- The shards that this session has locked. :space is the cluster's space of locks.
select objid::int as shard
from pg_locks
where locktype = 'advisory' and granted and pid = pg_backend_pid()
  and database = (select oid from pg_database where datname = current_database())
  and classid = :space::int::oid and objsubid = 2
