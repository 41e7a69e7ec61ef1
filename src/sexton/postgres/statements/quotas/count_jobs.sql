-- Count the jobs of a namespace, whose meter is locked; the count stops at one more than its quota.
with counted as materialized (
    select count(*) as jobs
    from (
        select from sexton.jobs as job
        where job.namespace = :namespace and job.status <> 'deleted'
        limit (select space.jobs + 1 from sexton.namespaces as space where space.name = :namespace)
    ) as there
)
update sexton.meters as meter
set counted = counted.jobs, counted_taken = meter.taken, counted_at = coalesce(:now::timestamptz, clock_timestamp())
from counted
where meter.namespace = :namespace and meter.kind = 'jobs'
returning meter.counted as jobs
