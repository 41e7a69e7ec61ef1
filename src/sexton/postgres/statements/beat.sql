-- Renew a scheduler's lease, tell how it is, and learn who lives and who holds which shard: one statement a second. A
-- node that was declared dead finds nothing to renew. Who is draining or cannot reach its elector lives, but is to
-- lead nothing. While the number of shards is being changed there are none to lead, and those beyond it are left over.
-- $1 node, $2 lease in seconds, $3 backend pids, $4 detail
with renewed as (
    update sexton.nodes
    set lease_until = clock_timestamp() + $2 * interval '1 second', heartbeat_at = clock_timestamp(), backend_pids = $3,
        detail = $4::jsonb
    where id = $1 and state <> 'dead'
    returning state
),
living as materialized (
    select n.id, n.state, n.lease_until, n.detail
    from sexton.nodes n
    where 'scheduler' = any (n.roles) and n.state <> 'dead' and n.lease_until > clock_timestamp() and n.id <> $1
),
ours as materialized (
    select s.id, s.epoch, s.holder
    from sexton.shards s
    where s.id < (select value::int from sexton.settings where name = 'shards')
        and not exists (
            select from sexton.settings
            where name = 'resharding' and value::float8 > extract(epoch from clock_timestamp())
        )
)
select (select state from renewed) as state, clock_timestamp() as now,
       array(select id from living) as live,
       array(
           select id from living
           where state = 'live' and coalesce((detail ->> 'elector_ok')::boolean, true)
       ) as candidates,
       array(select distinct detail ->> 'elector' from living where detail ? 'elector') as electors,
       (select extract(epoch from min(lease_until) - clock_timestamp())::float8 from living) as next_end_seconds,
       array(select id from ours order by id) as shards,
       array(select epoch from ours order by id) as epochs,
       array(select holder from ours order by id) as holders
