-- Unlock shards that this session has locked. $1 the cluster's space of locks, $2 shards
select pg_advisory_unlock($1::int, objid::int)
from pg_locks
where locktype = 'advisory' and granted and pid = pg_backend_pid()
  and database = (select oid from pg_database where datname = current_database())
  and classid = $1::int::oid and objsubid = 2 and objid::int = any ($2::int[])
