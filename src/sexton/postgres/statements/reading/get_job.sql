-- A job's row, deleted or not.
select * from sexton.jobs where id = :job_id and namespace = :namespace
