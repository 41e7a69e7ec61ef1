select * from sexton.timers where job_id = :job_id
