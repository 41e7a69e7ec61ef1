-- Renew a scheduler's lease, and learn who lives and who holds which shard: one statement a second. A node that
-- was declared dead finds nothing to renew. $1 node, $2 lease in seconds, $3 backend pids
with renewed as (
    update sexton.nodes
    set lease_until = clock_timestamp() + $2 * interval '1 second', heartbeat_at = clock_timestamp(), backend_pids = $3
    where id = $1 and state <> 'dead'
    returning id
)
select exists (select from renewed) as alive, clock_timestamp() as now,
       array(
           select n.id from sexton.nodes n
           where 'scheduler' = any(n.roles) and n.state = 'live' and n.lease_until > clock_timestamp() and n.id <> $1
       ) as others,
       array(select s.epoch from sexton.shards s order by s.id) as epochs,
       array(select coalesce(s.holder, 0) from sexton.shards s order by s.id) as holders,
       array(
           select n.id from sexton.nodes n
           where n.id in (select holder from sexton.shards) and n.state <> 'dead' and n.lease_until > clock_timestamp()
       ) as holding
