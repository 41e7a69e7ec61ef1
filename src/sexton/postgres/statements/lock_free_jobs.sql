-- Of some jobs, those that nobody holds at the moment; locked until the end of the transaction. $1 jobs
select id from sexton.jobs where id = any($1::bigint[]) order by id for no key update skip locked
