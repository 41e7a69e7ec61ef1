-- One statement per beat: renew the lease of node $1, tell how it is ($5), and fetch what somebody asked it to cancel, and
-- whether to drain. No row comes back if it was declared dead: then it must take a new identity.
with beat as (
    update sexton.nodes as node
    set lease_until = moment.now + make_interval(secs => $2::float8), heartbeat_at = moment.now, running = $3, detail = $5::jsonb
    from (select coalesce($4::timestamptz, clock_timestamp()) as now) as moment
    where node.id = $1 and node.state <> 'dead'
    returning moment.now, node.state
)
select
    extract(epoch from beat.now)::float8 as now, beat.state,
    array(
        select run.id from sexton.runs as run where run.node = $1 and run.cancel_requested_at is not null order by run.id
    ) as cancelled
from beat
