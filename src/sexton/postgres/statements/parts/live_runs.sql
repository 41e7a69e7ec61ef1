-- The columns of a live run in lists, and their tables.
-- Expects select before it, with or without other columns.
    r.id as run_id, r.job_id, j.name as job_name, r.trigger, r.missed, r.scheduled_at, r.due_at, r.fired_at,
    r.state as status, r.attempt, r.error, n.name as worker, r.node, r.claimed_at, n.lease_until,
    nullif(r.available_at, 'infinity') as available_at, r.expires_at, r.idempotency_key, r.parent_run, r.revision,
    r.slot, r.lane, r.cancel_requested_at, r.cancel_reason,
    j.options ->> 'idempotency_key_template' as template, j.timezone
from sexton.runs r
left join sexton.jobs j on j.id = r.job_id
left join sexton.nodes n on n.id = r.node
