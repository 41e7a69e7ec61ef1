-- Where live runs stand that are watched, by their ids or those of their jobs; of the first :most.
select run.id, run.job_id, run.state, run.attempt, run.claim, run.progress::text as progress
from sexton.runs as run
where run.id = any (:run_ids::bigint[]) or run.job_id = any (:job_ids::bigint[])
limit :most
