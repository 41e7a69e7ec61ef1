-- Of these jobs, those whose runs have a concurrency key.
select * from sexton.jobs where id = any(:jobs::bigint[]) and options ? 'concurrency_key'
