-- Lock the meter of a namespace's jobs until the transaction ends: until then no other transaction makes jobs. Returns the quota.
select space.jobs
from sexton.meters as meter
join sexton.namespaces as space on space.name = meter.namespace
where meter.namespace = :namespace and meter.kind = 'jobs'
for no key update of meter
