-- Forget dead letters; that the runs died stays in the history. $1 dead runs
delete from sexton.dead where run_id = any($1::bigint[])
