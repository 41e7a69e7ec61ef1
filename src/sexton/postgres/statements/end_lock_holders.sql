-- End the sessions that have locked these shards though the lease of their node is over: a stopped process keeps its
-- locks. A session younger than a lease may belong to a node that has not told of it yet. One row per session ended.
-- $1 the cluster's space of locks, $2 shards, $3 lease in seconds
select pid
from (
    select distinct l.pid
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid and a.backend_start < clock_timestamp() - $3 * interval '1 second'
    where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = $1::int::oid and l.objsubid = 2 and l.objid::int = any ($2::int[])
      and not exists (
          select from sexton.nodes n
          where l.pid = any (n.backend_pids) and n.state <> 'dead' and n.lease_until > clock_timestamp()
      )
) stale
where pg_terminate_backend(pid, 500)
