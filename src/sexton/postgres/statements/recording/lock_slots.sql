-- The runs that count for a job's overlap, locked until the transaction ends.
select id, slot, state from sexton.runs where job_id = :job_id and slot in (0, 1) order by slot for update
