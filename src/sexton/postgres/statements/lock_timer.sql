-- A job's timer, held until the transaction ends: from here on the job does not fire. $1 job
select * from sexton.timers where job_id = $1 for update
