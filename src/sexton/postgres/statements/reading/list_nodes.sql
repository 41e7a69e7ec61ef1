-- Every process that is alive or was within the last hour.
select n.id, n.name, n.roles, n.app, n.handlers, n.targets, n.queues, n.namespaces,
    case
        when n.state = 'dead' then case when n.detail ? 'stopped' then 'stopped' else 'dead' end
        when n.lease_until <= moment.now then 'expired'
        else n.state
    end as state,
    n.lease_until, n.heartbeat_at, n.started_at, n.capacity, n.running, n.version, n.detail,
    greatest(0, extract(epoch from moment.now - n.heartbeat_at))::float8 as heartbeat_age_seconds,
    (select count(*) from sexton.shards s where s.holder = n.id) as shards
from sexton.nodes n
cross join (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
where n.lease_until > moment.now - interval '1 hour'
order by n.id
limit 1000
