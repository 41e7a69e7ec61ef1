-- How a run ended, and under which claim.
select status, claim from sexton.history where run_id = :run_id order by recorded_at desc limit 1
