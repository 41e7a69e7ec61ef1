-- One statement per beat: renew the lease, and return the runs of this node that were cancelled. `state` is null if the
-- node was declared dead.
with
-- include: renewed
cancelled as (
    select run.id from sexton.runs as run where run.node = :node and run.cancel_requested_at is not null
)
select clock_timestamp() as now, (select state from renewed) as state,
       (select heartbeat_at from renewed) as beat_at, (select last_beat_at from renewed) as last_beat_at,
       array(select id from cancelled order by id) as cancelled
