-- A job's row, held until the transaction ends: the first lock of every change (jobs, then timers, then runs). $1 job
select job.*, (select value::int from sexton.settings where name = 'shards') as shards
from sexton.jobs as job
where job.id = $1
for update of job
