-- Take one run that has crashed its worker twice, for a node with nothing else in its hands: if it crashes this one
-- too, it is poison and nobody else suffers. Same rules as claim.sql; expired and cancelled ones are left to the sweeper.
-- $1 node, $2 its lanes, $3 now
with moment as materialized (select coalesce($3::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.ctid as place, run.job_id, run.claim, run.revision
    from sexton.runs as run
    where run.crashes >= 2
        and run.lane = any ($2::integer[])
        -- include: ready
        and (select node.state from sexton.nodes as node where node.id = $1) = 'live'
    order by run.priority, run.available_at
    limit 1
    for update skip locked
)
update sexton.runs as run
set
-- include: claim_set
from picked
-- include: claim_definition
where run.ctid = picked.place
returning
-- include: claim_columns
