-- The failed attempts of a run, in order.
select a.attempt, a.started_at, a.finished_at, a.outcome, a.error, n.name as worker, a.node
from sexton.attempts a
left join sexton.nodes n on n.id = a.node
where a.run_id = :run_id
order by a.attempt, a.recorded_at
limit 1000
