-- Lock the runs that no worker has claimed and that have a payload of their own, until the transaction ends.
select id, payload from sexton.runs where job_id = :job_id and claim = 0 and payload is not null for update
