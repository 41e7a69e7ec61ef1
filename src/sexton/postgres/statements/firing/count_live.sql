-- Count the live runs of some namespaces, for their quotas. The count is stored with `taken` of the same moment, so that
-- runs that start later can be added. No firing waits for this.
with counted as materialized (
    select meter.namespace, meter.taken, count(run.id) as runs
    from sexton.meters as meter
    left join sexton.lanes as lane on lane.namespace = meter.namespace
    left join sexton.runs as run on run.lane = lane.id
    where meter.kind = 'runs' and meter.namespace = any (:namespaces::text[])
    group by meter.namespace, meter.taken
)
update sexton.meters as meter
set counted = counted.runs, counted_taken = counted.taken, counted_at = coalesce(:now::timestamptz, statement_timestamp())
from counted
where meter.namespace = counted.namespace and meter.kind = 'runs'
returning meter.namespace
