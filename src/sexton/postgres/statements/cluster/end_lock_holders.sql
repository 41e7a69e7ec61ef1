-- End the sessions that have locked these shards although the lease of their node has ended: a stopped process keeps its
-- locks. A session younger than a lease may belong to a node that has not recorded it yet. Returns a row per ended
-- session. :space is the cluster's space of locks.
select pid
from (
    select distinct l.pid
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid and a.backend_start < clock_timestamp() - :lease_seconds::float8 * interval '1 second'
    where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = :space::int::oid and l.objsubid = 2 and l.objid::int = any (:shards::int[])
      and not exists (
          select from sexton.nodes n
          where l.pid = any (n.backend_pids) and n.state <> 'dead' and n.lease_until > clock_timestamp()
      )
) stale
where pg_terminate_backend(pid, 500)
