-- The runs that count for a job's overlap, held until the transaction ends. $1 job
select id, slot, state from sexton.runs where job_id = $1 and slot is not null order by slot for update
