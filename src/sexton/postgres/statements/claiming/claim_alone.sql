-- Claim one run that has crashed its worker twice, for a node that has no other run: if it crashes this one too, it is
-- poison, and no other run is lost with it. By the rules of claiming/claim. Expired and cancelled runs are left to the
-- sweeper.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.ctid as place, run.job_id, run.claim, run.revision
    from sexton.runs as run
    where run.crashes >= 2
        and run.lane = any (:lanes::integer[])
        -- include: ready
        and (select node.state from sexton.nodes as node where node.id = :node) = 'live'
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
