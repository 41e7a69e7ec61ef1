-- The live runs of one job, the newest first: $1 job, $2 only runs with a smaller id, $3 states or null, $4 triggers
-- or null, $5 how many.
select
    r.id as run_id, r.job_id, j.name as job_name, r.trigger, r.missed, r.scheduled_at, r.due_at, r.fired_at,
    r.state as status, r.attempt, r.error, n.name as worker, r.node, r.claimed_at, n.lease_until,
    nullif(r.available_at, 'infinity') as available_at, r.expires_at, r.idempotency_key, r.parent_run, r.revision,
    r.slot, r.lane, r.cancel_requested_at, r.cancel_reason,
    j.options ->> 'idempotency_key_template' as template, j.timezone
from sexton.runs r
left join sexton.jobs j on j.id = r.job_id
left join sexton.nodes n on n.id = r.node
where r.job_id = $1
    and ($2::bigint is null or r.id < $2)
    and ($3::text[] is null or r.state = any ($3))
    and ($4::text[] is null or r.trigger = any ($4))
order by r.id desc
limit $5
