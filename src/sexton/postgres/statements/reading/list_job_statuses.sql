-- The statuses of the first :most jobs of a namespace.
select status, count(*) as jobs
from (select status from sexton.jobs where namespace = :namespace and status <> 'deleted' limit :most) as counted
group by status
