-- Those of these jobs whose runs have a concurrency key. $1 jobs
select * from sexton.jobs where id = any($1::bigint[]) and options ? 'concurrency_key'
