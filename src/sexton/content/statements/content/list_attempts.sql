-- The tries of these runs that failed.
select try.run_id, try.attempt, try.started_at, try.finished_at, try.outcome, try.error, node.name as worker, try.node
from sexton.attempts as try
left join sexton.nodes as node on node.id = try.node
where try.run_id = any (:run_ids::bigint[]) and try.outcome <> 'snoozed'
order by try.run_id, try.attempt, try.recorded_at
limit :limit
