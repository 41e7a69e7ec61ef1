-- Delete dead letters; that the runs died stays in the history.
delete from sexton.dead where run_id = any(:runs::bigint[])
