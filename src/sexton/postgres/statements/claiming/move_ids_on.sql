-- If a run has :run_id and the sequence is behind it, the database has lost transactions, as in a failover to a server
-- that was behind: then move the sequence far beyond all ids that may have been lost. No row: nothing was lost.
select setval('sexton.run_ids', :run_id::bigint + 1000000), setval('sexton.job_ids', job_ids.last_value + 1000000)
from sexton.run_ids as run_ids
cross join sexton.job_ids as job_ids
where run_ids.last_value < :run_id
