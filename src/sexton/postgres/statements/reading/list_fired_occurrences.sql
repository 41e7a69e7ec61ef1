-- Which occurrences of a job between :start and :end (both included) have live runs.
select r.id as run_id, r.scheduled_at, r.trigger, r.state as status, r.missed, r.attempt, r.error, r.due_at, r.fired_at,
    r.claimed_at, r.deadline_at, nullif(r.available_at, 'infinity') as available_at, r.slot, r.lane, n.name as worker, r.node,
    l.namespace, l.queue, l.target, l.handler,
    case when r.slot <> 0 then (select b.id from sexton.runs b where b.job_id = r.job_id and b.slot = 0) end as blocker,
    r.concurrency_key
from sexton.runs r
left join sexton.nodes n on n.id = r.node
left join sexton.lanes l on l.id = r.lane
where r.job_id = :job_id and r.scheduled_at between :start and :end and r.trigger <> 'manual'
order by r.scheduled_at, r.id
limit :limit
