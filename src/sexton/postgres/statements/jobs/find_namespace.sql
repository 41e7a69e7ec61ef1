-- The namespace of a job.
select namespace from sexton.jobs where id = :job_id
