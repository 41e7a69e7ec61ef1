-- Of these pairs (run, claim) of a node, those that have ended since a time: for a worker that lost the answer of
-- recording/finish. Found by job, since history has an index on that.
select history.run_id, history.status
from unnest(:runs::bigint[], :claims::integer[], :jobs::bigint[]) as mine (id, claim, job_id)
join sexton.history as history
    on history.job_id = mine.job_id
    and history.recorded_at >= :since::timestamptz
    and history.run_id = mine.id
    and history.claim = mine.claim
    and history.node = :node
