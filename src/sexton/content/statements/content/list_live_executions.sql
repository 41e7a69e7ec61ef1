-- Live runs of actions after a place, the newest first; the items of a release share one. Filters that are null do not count; planned anew for
-- every call, so that each that is given finds its index.
select run.id as run_id, run.scheduled_at, run.trigger, run.state as status, run.attempt, run.error, run.claimed_at as started_at,
       plan.id as schedule_id, plan.entity_type, plan.entity_id, plan.action, plan.adapter, plan.created_by,
       plan.result as item_result, plan.error as item_error, run.node, node.name as worker
from sexton.runs as run
join sexton.content_schedules as plan on plan.job_id = run.job_id
left join sexton.nodes as node on node.id = run.node
where plan.namespace = :namespace
    and (:run_id::bigint is null or (run.id, plan.id) < (:run_id, :plan_id::bigint))
-- include: plan_chosen
order by run.id desc, plan.id desc
limit :limit
