-- Lock runs of a namespace for the reports of workers over HTTP, in the order of their ids; with :node, only runs that it holds.
with
-- include: patience
moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now from patience)
select
-- include: reported
where run.id = any (:runs::bigint[]) and (:node::bigint is null or run.node = :node)
    and exists (select from sexton.lanes as lane where lane.id = run.lane and lane.namespace = :namespace)
order by run.id
for update of run
