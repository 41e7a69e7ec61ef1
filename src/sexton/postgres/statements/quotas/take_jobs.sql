-- Take :count jobs of a namespace's quota, if as many are surely left of it: how many there may be now.
update sexton.meters as meter
set taken = meter.taken + :count::bigint
from sexton.namespaces as space
where meter.namespace = :namespace and meter.kind = 'jobs' and space.name = meter.namespace
    and meter.counted_at > '-infinity'
    and meter.counted + meter.taken - meter.counted_taken + :count <= space.jobs
returning meter.counted + meter.taken - meter.counted_taken as jobs
