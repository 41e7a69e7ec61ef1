-- Unlock shards that this session has locked. :space is the cluster's space of locks.
select pg_advisory_unlock(:space::int, objid::int)
from pg_locks
where locktype = 'advisory' and granted and pid = pg_backend_pid()
  and database = (select oid from pg_database where datname = current_database())
  and classid = :space::int::oid and objsubid = 2 and objid::int = any (:shards::int[])
