-- How a run ended, and under which claim. $1 run
select status, claim from sexton.history where run_id = $1 order by recorded_at desc limit 1
