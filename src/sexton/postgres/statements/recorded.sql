-- Which of these (run, claim) of node $4 have ended since $5: what a worker asks when the answer to its finish was lost.
-- By the job, as history has an index on that.
select history.run_id, history.status
from unnest($1::bigint[], $2::integer[], $3::bigint[]) as mine (id, claim, job_id)
join sexton.history as history
    on history.job_id = mine.job_id
    and history.recorded_at >= $5::timestamptz
    and history.run_id = mine.id
    and history.claim = mine.claim
    and history.node = $4
