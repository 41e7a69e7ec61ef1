-- How a run ended, if it did. $1 run
select status from sexton.history where run_id = $1 limit 1
