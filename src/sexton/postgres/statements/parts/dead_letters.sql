-- The columns of a dead letter in lists, and its tables.
-- Expects select before it, with or without other columns.
    d.run_id, d.job_id, j.name as job_name, d.died_at, d.reason, d.error, d.error_group, d.scheduled_at, d.trigger,
    d.missed, d.attempt, d.idempotency_key, d.parent_run, d.revision, d.delivered_at,
    d.delivery_error, l.queue, l.target as target_kind, l.handler
from sexton.dead d
left join sexton.jobs j on j.id = d.job_id
left join sexton.lanes l on l.id = d.lane
