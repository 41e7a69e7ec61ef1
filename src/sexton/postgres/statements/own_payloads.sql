-- Runs that nobody has claimed yet and that have a payload of their own, held until the transaction ends. $1 job
select id, payload from sexton.runs where job_id = $1 and claim = 0 and payload is not null for update
