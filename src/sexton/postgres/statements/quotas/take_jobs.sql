-- Take :count jobs of a namespace's quota, if certainly as many are left; returns an upper bound of the jobs that there are now.
update sexton.meters as meter
set taken = meter.taken + :count::bigint
from sexton.namespaces as space
where meter.namespace = :namespace and meter.kind = 'jobs' and space.name = meter.namespace
    and meter.counted_at > '-infinity'
    and meter.counted + meter.taken - meter.counted_taken + :count <= space.jobs
returning meter.counted + meter.taken - meter.counted_taken as jobs
