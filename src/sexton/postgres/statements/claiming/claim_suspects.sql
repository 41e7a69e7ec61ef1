-- Claim runs that may end the process of their worker, for a worker that has only such runs. By the rules of claiming/claim.
-- The `company` of the most suspicious run says how many may run together. With :company, the node has such runs already, and up to
-- :limit others that allow so many may join them. Otherwise the run that has waited longest decides.
-- Expired and cancelled runs are left to the sweeper.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
together as materialized (
    select coalesce(:company::integer, (
        select run.company
        from sexton.runs as run
        where run.company > 0
            and run.lane = any (:lanes::integer[])
            -- include: ready
        order by run.available_at, run.company
        limit 1
    )) as company
),
picked as materialized (
    select run.ctid as place, run.job_id, run.claim, run.revision
    from sexton.runs as run
    where run.company > 0
        and run.company >= (select company from together)
        and run.lane = any (:lanes::integer[])
        -- include: ready
        and (select node.state from sexton.nodes as node where node.id = :node) = 'live'
    order by run.available_at, run.company
    limit (select case when :company::integer is null then least(together.company, :limit::integer) else :limit end from together)
    for update skip locked
)
update sexton.runs as run
set
-- include: claim_set
from picked
-- include: claim_definition
where run.ctid = picked.place
returning run.company,
-- include: claim_columns
