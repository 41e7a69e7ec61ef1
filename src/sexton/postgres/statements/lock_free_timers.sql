-- Of some timers, those that nobody holds at the moment; locked until the end of the transaction. $1 jobs
select job_id from sexton.timers where job_id = any($1::bigint[]) order by job_id for update skip locked
