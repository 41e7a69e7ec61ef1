-- After the database has lost transactions, move the ids far beyond those that may have been lost.
select setval('sexton.run_ids', run_ids.last_value + 1000000), setval('sexton.job_ids', job_ids.last_value + 1000000)
from sexton.run_ids as run_ids
cross join sexton.job_ids as job_ids
