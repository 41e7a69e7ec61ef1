-- One statement per beat: renew the lease of node $1 and fetch what somebody asked it to cancel. No row comes back if it
-- was declared dead: then it must take a new identity.
with beat as (
    update sexton.nodes as node
    set lease_until = moment.now + make_interval(secs => $2::float8), heartbeat_at = moment.now, running = $3
    from (select coalesce($4::timestamptz, clock_timestamp()) as now) as moment
    where node.id = $1 and node.state <> 'dead'
    returning moment.now
)
select
    extract(epoch from beat.now)::float8 as now,
    array(
        select run.id from sexton.runs as run where run.node = $1 and run.cancel_requested_at is not null order by run.id
    ) as cancelled
from beat
