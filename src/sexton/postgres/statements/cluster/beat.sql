-- A scheduler's beat, once a second: it renews the lease, and returns which schedulers are live and hold which shard.
-- `state` is null if the node was declared dead. A node that is draining, cannot reach its elector or cannot fire is
-- live, but no candidate to lead. `fired` is when each candidate last fired, or proved that it could. While the number of
-- shards changes there are no candidates, and no shards beyond the new number.
with
-- include: renewed
living as materialized (
    select n.id, n.state, n.lease_until, n.detail
    from sexton.nodes n
    where 'scheduler' = any (n.roles) and n.state <> 'dead' and n.lease_until > clock_timestamp() and n.id <> :node
),
candidates as materialized (
    select id, coalesce((detail ->> 'fired')::float8, 0) as fired
    from living
    where state = 'live' and coalesce((detail ->> 'elector_ok')::boolean, true)
        and coalesce((detail ->> 'fires')::boolean, true)
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
select clock_timestamp() as now, (select state from renewed) as state,
       (select heartbeat_at from renewed) as beat_at, (select last_beat_at from renewed) as last_beat_at,
       array(select id from living) as live,
       array(select id from candidates order by id) as candidates,
       array(select fired from candidates order by id) as fired,
       array(select distinct detail ->> 'elector' from living where detail ? 'elector') as electors,
       (select extract(epoch from min(lease_until) - clock_timestamp())::float8 from living) as next_end_seconds,
       array(select id from ours order by id) as shards,
       array(select epoch from ours order by id) as epochs,
       array(select holder from ours order by id) as holders
