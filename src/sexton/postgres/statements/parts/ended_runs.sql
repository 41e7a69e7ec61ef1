-- The columns of an ended run or a skipped occurrence in lists, and their tables.
-- Expects select before it, with or without other columns.
    h.recorded_at, h.run_id, h.job_id, j.name as job_name, h.trigger, h.missed, h.scheduled_at, h.status, h.reason,
    h.attempt, h.error, n.name as worker, h.node, h.fired_at, h.started_at, h.finished_at, h.until_at, h.occurrences,
    h.result::text, h.idempotency_key, h.parent_run, h.revision,
    (j.options ->> 'jitter_seconds')::int as jitter_seconds
from sexton.history h
left join sexton.jobs j on j.id = h.job_id
left join sexton.nodes n on n.id = h.node
